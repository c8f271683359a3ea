"""The function that tests copied from the playground call to compile their function as the playground does."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xla_inspect.captured import Capture


@dataclass(frozen=True)
class Seen:
    """The facts that a test asserts about a program for a target.

    Attributes:
        capture: The whole capture.
        kernels: The number of launched instructions, including collectives and copies; each counts once.
        opcodes: The number of instructions of each opcode after the last pass.
    """

    capture: Capture
    kernels: int
    opcodes: Mapping[str, int]


def recapture(
    names: Mapping[str, Any],
    function: str,
    *,
    arguments: str = "",
    targets: Sequence[str] = ("cpu",),
    options: Mapping[str, Any] | None = None,
) -> dict[str, Seen]:
    """Compile a function as the playground does, and return the facts about it by target.

    Args:
        names: The values of a file's names, such as `globals()`.
        function: The function's name.
        arguments: Its arguments as the page writes them; if empty, those of EXAMPLE.
        targets: The short names of the targets.
        options: `donate`, `static`, `grad`, `vmap`, `mesh` and `flags`, as the page sends them.

    Raises:
        InspectError: The arguments cannot be parsed, or do not fit the function or a target.
    """
    from xla_inspect.analysis import list_launches
    from xla_inspect.play.edited_subject import choose_options, find_subject

    module = ModuleType(str(names.get("__name__", "edit")))
    module.__dict__.update(names)
    subject = find_subject(module, str(names.get("__file__", "")), function, arguments, options or {})
    facts = {}
    for target in targets:
        settings = choose_options(subject, target)
        # The options differ by target, so each target needs a subject with its own options.
        capture = type(subject)(subject.name, subject.call, options=settings).capture(target)
        facts[target] = Seen(capture, len(list_launches(capture)), capture.module.opcode_counts())
    return facts
