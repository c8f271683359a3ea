"""The operations of a Python function, each with its place in the text and a number that colours what came of it."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import list_launches, list_origins
from xla_inspect.report import markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from xla_inspect.captured import Capture, Captures

COLOURS = 6
"""How many colours there are; with more operations they come again."""

# What a browser would break at its hyphen: an arrow, a number with an exponent.
_HYPHENATED = re.compile(r"[^\s()\[\],]+-[^\s()\[\],]*|-[^\s()\[\],]+")


@dataclass(frozen=True, slots=True)
class OperationMark:
    """An operation of a function, such as a call or a division.

    Attributes:
        number: Its number, from one, in the order of the text.
        line: Its line in the file, counted from one.
        expression: Its text on one line, as `list_origins` has it.
        start: Where the part that names it begins, `jnp.exp` or `/`, in columns from zero.
        end: Where that part ends.
    """

    number: int
    line: int
    expression: str
    start: int
    end: int


def find_marks(captures: Captures) -> tuple[OperationMark, ...]:
    """Return the operations of a program that came to be part of a launch on any target, in the order of the text.

    Calls and operators are found; what else an expression may be has no name of its own to be marked.

    Args:
        captures: The program's captures, of one file.
    """
    first = next(iter(captures.values()))
    wanted = {
        (origin.line, origin.expression)
        for capture in captures.values()
        for launch in list_launches(capture)
        for origin in list_origins(capture, launch.instruction)
    }
    found: dict[tuple[int, int, int], str] = {}
    for node in ast.walk(ast.parse(first.source)):
        if not isinstance(node, ast.Call | ast.BinOp):
            continue
        text = " ".join(line.strip() for line in (ast.get_source_segment(first.source, node) or "").split("\n"))
        if (node.lineno, text) in wanted:
            found[_find_name(node, first.source.splitlines())] = text
    return tuple(
        OperationMark(number, line, expression, start, end)
        for number, ((line, start, end), expression) in enumerate(sorted(found.items()), 1)
    )


def _find_name(node: ast.Call | ast.BinOp, lines: list[str]) -> tuple[int, int, int]:
    """The line and the columns of what names an operation: the function that is called, or the operator."""
    if isinstance(node, ast.Call):
        return node.func.lineno, node.func.col_offset, node.func.end_col_offset or 0
    # Between two operands stand the operator, blanks and brackets.
    line, start = node.left.end_lineno or 0, node.left.end_col_offset or 0
    same = node.right.lineno == line
    between = lines[line - 1][start : node.right.col_offset if same else None]
    named = between.strip("() ")
    start += between.index(named)
    return line, start, start + len(named)


def show_marked(capture: Capture, marks: Iterable[OperationMark], function: str) -> str:
    """Return a function as HTML, without its docstring, its operations in their colours and each line to be chosen.

    Args:
        capture: A capture of the file that the function is in.
        marks: Its operations.
        function: What it is called.

    Raises:
        ValueError: The file has no such function.
    """
    tree = ast.parse(capture.source)
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function]
    if not found:
        message = f"{capture.source_file} has no function {function}"
        raise ValueError(message)
    [node] = found
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    numbers = [node.lineno, *(line for each in body for line in range(each.lineno, (each.end_lineno or 0) + 1))]
    lines = capture.source.splitlines()
    shown = (_show_line(lines[number - 1], [mark for mark in marks if mark.line == number]) for number in numbers)
    return f'<div class="marked"><code>{"".join(shown)}</code></div>\n'


def _show_line(text: str, marks: list[OperationMark]) -> str:
    parts = "".join(_show_parts(text, marks))
    if not marks:
        return f"<span>{parts}\n</span>"
    of = " ".join(str(mark.number) for mark in marks)
    return f'<span class="line" data-of="{of}" tabindex="0">{parts}\n</span>'


def _show_parts(text: str, marks: list[OperationMark]) -> Iterator[str]:
    at = 0
    for mark in marks:
        yield _escape(text[at : mark.start])
        name = markdown.escape(text[mark.start : mark.end])
        yield f'<span class="operation c{(mark.number - 1) % COLOURS}" data-of="{mark.number}">{name}</span>'
        at = mark.end
    yield _escape(text[at:])


def _escape(text: str) -> str:
    return _HYPHENATED.sub(r'<span class="whole">\g<0></span>', markdown.escape(text))
