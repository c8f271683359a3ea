"""Lines of the program that a page shows: variants with one line changed, and the kernels that a line becomes."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect.analysis import find_line, find_lines, list_kernels
from xla_inspect.hlo import IDLE
from xla_inspect.plural import plural
from xla_inspect.report import markdown

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from xla_inspect.captured import Capture


def show_source(*functions: Callable[..., Any]) -> str:
    """Return functions of one program as a listing, without the rest of the file."""
    file = Path(inspect.getsourcefile(functions[0]) or "").name
    text = "\n\n".join(map(inspect.getsource, functions))
    return markdown.fence(text, "python", title=f"from snippets/programs/{file}")


def change_line(function: Callable[..., Any], old: str, new: str) -> Callable[..., Any]:
    """Return a function with a part of one line replaced; all lines keep their numbers.

    Args:
        function: The function, defined in a file.
        old: A part of its text that occurs once.
        new: The replacement, with the same number of lines.

    Raises:
        ValueError: `old` does not occur exactly once, or `new` has another number of lines.
    """
    lines, first = inspect.getsourcelines(function)
    text = "".join(lines)
    if text.count(old) != 1 or old.count("\n") != new.count("\n"):
        message = f"{old!r} must occur once in {function.__name__}, and it occurs {plural(text.count(old), 'time')}"
        raise ValueError(message)
    # The globals are copied, so that the variant does not replace the original function in its module.
    names = dict(function.__globals__)
    # Blank lines keep the line numbers, so that a capture of the variant points into the real file.
    code = compile("\n" * (first - 1) + text.replace(old, new), inspect.getsourcefile(function) or "", "exec")
    exec(code, names)  # noqa: S102 - a program of this project
    variant: Callable[..., Any] = names[function.__name__]
    return variant


def find_on_line(capture: Capture, text: str, opcode: str) -> tuple[str, ...]:
    """Return the names of the instructions that a line of Python becomes in the module before optimization.

    Raises:
        ValueError: No line contains the text.
    """
    module = capture.unoptimized_module
    lines, number = find_lines(capture, module), find_line(capture, text)
    return tuple(
        instruction.name
        for instruction in module.walk()
        if instruction.opcode == opcode and instruction in lines and lines[instruction].number == number
    )


def list_kernels_of_lines(capture: Capture, *texts: str) -> tuple[str, ...]:
    """Return the names of the kernels that compute a part of some lines of Python, in order.

    Raises:
        ValueError: No line contains one of the texts.
    """
    module = capture.module
    lines, numbers = find_lines(capture, module), {find_line(capture, text) for text in texts}
    return tuple(
        kernel.name
        for kernel in list_kernels(capture)
        if any(
            instruction in lines and lines[instruction].number in numbers and instruction.opcode not in IDLE
            for instruction in (
                # A fusion is no operation of its own, so only the computation that it calls is searched.
                *([] if kernel.opcode == "fusion" else [kernel.instruction]),
                *(instruction for computation in module.called(kernel.instruction) for instruction in computation),
            )
        )
    )
