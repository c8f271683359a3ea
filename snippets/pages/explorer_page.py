"""Captures of the gallery's programs for the explorer's page, and a check of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from programs import gallery
from xla_inspect import Captures, capture_all
from xla_inspect.compilation import USUAL

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence


def compile_gallery(whole: Collection[str]) -> dict[str, Captures]:
    """Compile the gallery's programs for its targets, and return the captures by the program's name.

    Args:
        whole: The names of the programs that also get machine code and reasons, for the usual targets.
    """

    def compile_one(name: str, targets: Sequence[str] = (), *, everything: bool) -> Captures:
        piece = gallery.PROGRAMS[name]
        names = piece.name_targets(targets)
        return capture_all(
            piece.function,
            *piece.example,
            targets=names,
            machine=everything,
            reasons=everything,
            **piece.arguments,
        )

    captured = {}
    for name in gallery.PROGRAMS:
        plain = compile_one(name, everything=False)
        more = compile_one(name, USUAL, everything=True) if name in whole else {}
        # The missing targets and the order come from the plain captures, because the others cover only the usual
        # targets.
        captured[name] = Captures({**plain, **more}, plain.missing, plain.targets) if more else plain
    return captured


def check_code(captured: Mapping[str, Captures], names: Iterable[str]) -> None:
    """Assert that the captures of the named programs include their kernels' code and the compiler's log."""
    for name in names:
        captured[name].require()
        for target in USUAL:
            program = captured[name][target]
            languages = {"asm" if target == "cpu" else "sass", "llvm"}
            assert program.log
            # A TPU's kernels have a low-level program instead of code in these languages.
            assert program.low_level or {piece.language for piece in program.code} >= languages
