"""Lines of the program that a page shows: one of them changed, and what a compiler made of one."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect.analysis import find_line, find_lines, list_kernels
from xla_inspect.hlo import IDLE
from xla_inspect.report import markdown

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from xla_inspect.captured import Capture


def show_source(*functions: Callable[..., Any]) -> str:
    """Return functions of one of the programs as a listing, without the rest of its file."""
    file = Path(inspect.getsourcefile(functions[0]) or "").name
    text = "\n\n".join(map(inspect.getsource, functions))
    return markdown.fence(text, "python", title=f"from snippets/programs/{file}")


def change_line(function: Callable[..., Any], old: str, new: str) -> Callable[..., Any]:
    """Return a function of a file with a part of one line replaced, the other lines where they were.

    Args:
        function: What the file has it as.
        old: A part of its text, which occurs in it once.
        new: What stands there instead, in one line too.

    Raises:
        ValueError: The part does not occur, or more than once, or what replaces it is of another number of lines.
    """
    lines, first = inspect.getsourcelines(function)
    text = "".join(lines)
    if text.count(old) != 1 or old.count("\n") != new.count("\n"):
        message = f"{function.__name__} has {text.count(old)} times {old!r}: name a part of one line that occurs once"
        raise ValueError(message)
    names = dict(function.__globals__)
    # Whoever asks for a line of what was made finds that of the file.
    code = compile("\n" * (first - 1) + text.replace(old, new), inspect.getsourcefile(function) or "", "exec")
    exec(code, names)  # noqa: S102 - a program of this project
    changed: Callable[..., Any] = names[function.__name__]
    return changed


def find_on_line(capture: Capture, text: str, opcode: str) -> tuple[str, ...]:
    """Return the names of the instructions that a line of Python became, as the program came to the compiler.

    Args:
        capture: A capture of the program.
        text: What the line contains.
        opcode: Which of the line's instructions.

    Raises:
        ValueError: No line contains the text.
    """
    module = capture.unoptimized_module
    lines, number = find_lines(capture, module), find_line(capture, text)
    return tuple(
        each.name for each in module.walk() if each.opcode == opcode and each in lines and lines[each].number == number
    )


def list_kernels_of_lines(capture: Capture, *texts: str) -> tuple[str, ...]:
    """Return the names of the kernels that compute something of some lines of Python, in order.

    Args:
        capture: A capture of the program.
        *texts: What the lines contain.

    Raises:
        ValueError: No line contains one of them.
    """
    module = capture.module
    lines, numbers = find_lines(capture, module), {find_line(capture, text) for text in texts}
    return tuple(
        kernel.name
        for kernel in list_kernels(capture)
        if any(
            each in lines and lines[each].number in numbers and each.opcode not in IDLE
            for each in (
                *([] if kernel.opcode == "fusion" else [kernel.instruction]),
                *(each for computation in module.called(kernel.instruction) for each in computation),
            )
        )
    )
