"""HLO text with the tables of Python frames that captures omit, and file names relative to the project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect import targets

if TYPE_CHECKING:
    from collections.abc import Callable


def located_hlo(fn: Callable[..., Any], *example_args: Any) -> str:  # noqa: ANN401 - whatever the function takes
    """Return `lowered.as_text("hlo", debug_info=True)` without frames outside the program and without absolute paths.

    Args:
        fn: Any function that `jax.jit` accepts.
        *example_args: Its arguments: arrays or `jax.ShapeDtypeStruct`s.
    """
    targets.settle()
    from xla_inspect.compilation import lowering

    program = lowering.describe_call(fn, example_args, {}, {})
    with lowering.held_settings(program.project):
        lowered = lowering.lower(program, targets.find_target("cpu"))
        return str(lowered.stage.as_text("hlo", debug_info=True))
