"""The outputs of a program by name, and modules that return only some of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xla_inspect.errors import InspectError
from xla_inspect.questions.numbers.module_part import make_instruction, return_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Module

_RESULT = re.compile(r'jax\.result_info = "result([^"]*)"')
_KEY = re.compile(r"\['([^']*)'\]")


def list_outputs(capture: Capture) -> list[str]:
    """Return the path of each output in the function's result, as in `metrics.loss` or `[0]`; empty for a lone one."""
    module = capture.module if capture.after else capture.unoptimized_module
    number = len(module.entry.root.shape.leaves())
    names = [_write_path(path) for path in _RESULT.findall(capture.stablehlo)]
    # A program that does not come from JAX has no paths.
    return names if len(names) == number else [f"[{position}]" if number > 1 else "" for position in range(number)]


def find_outputs(capture: Capture, output: str | int) -> list[int]:
    """Return the numbers of the outputs with a path, or below it.

    Args:
        capture: The capture of the program.
        output: The path, as in `list_outputs`, or the number of an element of the result.

    Raises:
        InspectError: There is no such output; the message lists those that exist.
    """
    path = _write_path(output) if isinstance(output, str) else f"[{output}]"
    names = list_outputs(capture)
    numbers = [number for number, name in enumerate(names) if name == path or name.startswith((f"{path}.", f"{path}["))]
    if not numbers:
        existing = f"its outputs are {', '.join(names)}" if any(names) else "its only output has no name, so omit it"
        message = f"{capture.program} has no output {str(output)!r}; {existing}"
        raise InspectError(message)
    return numbers


def keep_outputs(module: Module, numbers: Sequence[int] | None) -> Module:
    """Return a module that returns only the outputs with these numbers; None keeps all."""
    root = module.entry.root
    if numbers is None or not root.shape.is_tuple:
        return module
    shapes = root.shape.elements
    elements = [
        make_instruction(
            f"kept_output_{number}", "get-tuple-element", shapes[number], (root.name,), f", index={number}"
        )
        for number in numbers
    ]
    return return_values(module, "kept_outputs", elements)


def _write_path(path: str) -> str:
    return _KEY.sub(r".\1", path).lstrip(".")
