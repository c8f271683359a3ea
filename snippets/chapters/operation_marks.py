"""Marks of the operations in a Python function: their places in the text and the numbers of their colours."""

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
"""The number of colours, which repeat if there are more operations."""

# Tokens that a browser would break at a hyphen, such as an arrow or a number with an exponent.
_HYPHENATED = re.compile(r"[^\s()\[\],]+-[^\s()\[\],]*|-[^\s()\[\],]+")


@dataclass(frozen=True, slots=True)
class OperationMark:
    """An operation of a function, such as a call or a division.

    Attributes:
        number: Its number in the order of the text, from 1.
        line: Its line in the file, from 1.
        expression: Its text on one line, as in `list_origins`.
        start: The first column of the text that names it, such as `jnp.exp` or `/`, from 0.
        end: The column after that text.
    """

    number: int
    line: int
    expression: str
    start: int
    end: int


def find_marks(captures: Captures) -> tuple[OperationMark, ...]:
    """Return the operations that are part of a launch on any target, in the order of the text.

    Only calls and operators are included, because other expressions contain no name that can be marked.

    Args:
        captures: The captures of a program in one file.
    """
    # All captures are of one file, so any of them contains its source.
    first = next(iter(captures.values()))
    launched = {
        (origin.line, origin.expression)
        for capture in captures.values()
        for launch in list_launches(capture)
        for origin in list_origins(capture, launch.instruction)
    }
    texts: dict[tuple[int, int, int], str] = {}
    for node in ast.walk(ast.parse(first.source)):
        if not isinstance(node, ast.Call | ast.BinOp):
            continue
        # `list_origins` writes an expression on one line, and the texts are compared.
        text = " ".join(line.strip() for line in (ast.get_source_segment(first.source, node) or "").split("\n"))
        if (node.lineno, text) in launched:
            texts[_find_name(node, first.source.splitlines())] = text
    return tuple(
        OperationMark(number, line, expression, start, end)
        for number, ((line, start, end), expression) in enumerate(sorted(texts.items()), 1)
    )


def _find_name(node: ast.Call | ast.BinOp, lines: list[str]) -> tuple[int, int, int]:
    """Return the line, first column and end column of what a call calls, such as `jnp.exp`, or of the operator."""
    if isinstance(node, ast.Call):
        return node.func.lineno, node.func.col_offset, node.func.end_col_offset or 0
    # The text between two operands contains the operator, blanks and brackets.
    line, start = node.left.end_lineno or 0, node.left.end_col_offset or 0
    same = node.right.lineno == line
    between = lines[line - 1][start : node.right.col_offset if same else None]
    operator = between.strip("() ")
    start += between.index(operator)
    return line, start, start + len(operator)


def show_marked(capture: Capture, marks: Iterable[OperationMark], function: str) -> str:
    """Return a function as HTML without its docstring; marked operations are coloured, and their lines are focusable.

    Args:
        capture: A capture of a program in the function's file.
        marks: The operations of the function.
        function: The name of the function.

    Raises:
        ValueError: The file has no function of that name.
    """
    tree = ast.parse(capture.source)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function]
    if not functions:
        message = f"{capture.source_file} has no function {function}"
        raise ValueError(message)
    [node] = functions
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    numbers = [
        node.lineno,
        *(line for statement in body for line in range(statement.lineno, (statement.end_lineno or 0) + 1)),
    ]
    lines = capture.source.splitlines()
    rows = (_show_line(lines[number - 1], [mark for mark in marks if mark.line == number]) for number in numbers)
    return f'<div class="marked"><code>{"".join(rows)}</code></div>\n'


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
