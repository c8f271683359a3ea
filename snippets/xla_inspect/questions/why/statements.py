"""The statements of a program's files that define a variable of Python or a value of MLIR."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True)
class Statement:
    """The file and the extent of a statement: pairs of a line, from 1, and a column, from 0; the end is exclusive."""

    file: str
    start: tuple[int, int]
    end: tuple[int, int]

    @property
    def lines(self) -> Iterator[tuple[str, int]]:
        """The lines of the statement, each as a pair of the file and the line number."""
        return ((self.file, number) for number in range(self.start[0], self.end[0] + 1))


def list_assigned(file: str, text: str) -> dict[str, list[Statement]]:
    """Return the statements that assign each variable of a file, by name; empty if the text is not Python."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return {}
    assigned: dict[str, list[Statement]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
            targets = [node.target]
        else:
            continue
        start, end = (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or 0)
        for name in (
            name_node.id for target in targets for name_node in ast.walk(target) if isinstance(name_node, ast.Name)
        ):
            assigned.setdefault(name, []).append(Statement(file, start, end))
    return assigned


def list_definitions(sources: Mapping[str, str], value: str) -> set[tuple[str, int]]:
    """Return the lines of MLIR that define a value such as `%13`, each as a file and a number.

    Args:
        sources: The texts of the program's files, by name.
        value: The value; `%13#1` is the second result of the line that begins with `%13:2 =`.
    """
    head = re.compile(rf"\s*{re.escape(value.partition('#')[0])}(?::\d+)?(?:, %\S+)* = ")
    lines = {file: text.splitlines() if value.startswith("%") else () for file, text in sources.items()}
    return {(file, number) for file, own in lines.items() for number, line in enumerate(own, 1) if head.match(line)}
