"""The unoptimized HLO text of a function with its tables of Python frames, which captures omit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect import targets

if TYPE_CHECKING:
    from collections.abc import Callable


def located_hlo(fn: Callable[..., Any], *example_args: Any) -> str:  # noqa: ANN401 - whatever the function takes
    """Lower a function for the CPU, and return its unoptimized HLO text with frame tables; it is not compiled.

    The text has no frames outside the program, and its file names are relative to the project.

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
