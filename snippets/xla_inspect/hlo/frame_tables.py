"""The stack-frame tables at the head of HLO text, resolved to call chains in the user's Python."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xla_inspect.errors import HloSyntaxError
from xla_inspect.hlo.attributes import STRING, unquote
from xla_inspect.hlo.frame import Frame

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")
_NAME_ROW = re.compile(rf"([0-9]{{1,9}}) ({STRING})", re.ASCII)
_ID = "[0-9]{1,9}"
_LOCATION_ROW = re.compile(
    rf"({_ID}) {{file_name_id=({_ID}) function_name_id=({_ID}) line=({_ID})"
    rf"(?: end_line=({_ID}))?(?: column=({_ID}))?(?: end_column=({_ID}))?}}",
    re.ASCII,
)
_FRAME_ROW = re.compile(rf"({_ID}) {{file_location_id=({_ID})(?: parent_frame_id=({_ID}))?}}", re.ASCII)
_HEAD = re.compile(r"^FileNames\n.*?^StackFrames\n.*?\n\n+", re.MULTILINE | re.DOTALL)
_ROWS = dict(zip(TABLES, (_NAME_ROW, _NAME_ROW, _LOCATION_ROW, _FRAME_ROW), strict=True))


def split(text: str) -> tuple[str, str]:
    """Return the tables of a module's text, or an empty string, and the text without them."""
    match = _HEAD.search(text)
    return (match[0], text[: match.start()] + text[match.end() :]) if match else ("", text)


def read_frames(tables: str) -> Mapping[int, tuple[Frame, ...]]:
    """Return the call chain of each stack frame, innermost frame first, in the order of the tables.

    Raises:
        HloSyntaxError: As of `Tables`.
    """
    reader, lines, index = Tables(), tables.split("\n"), 0
    while index < len(lines):
        index = reader.read(lines, index) if lines[index] in TABLES else index + 1
    return reader.resolve()


class Tables:
    """The rows of the four tables as they are read, each with its line."""

    def __init__(self) -> None:
        """Start with no rows."""
        self._rows: dict[str, dict[int, tuple[int, tuple[str | None, ...]]]] = {table: {} for table in TABLES}

    def read(self, lines: Sequence[str], start: int) -> int:
        """Read the table whose title is on line index `start`; return the index of the line after its rows.

        Raises:
            HloSyntaxError: A row is malformed or repeats a number.
        """
        table = lines[start].rstrip()
        index = start + 1
        while index < len(lines) and lines[index].strip():
            if lines[index].rstrip() in TABLES:
                return index
            match = _ROWS[table].fullmatch(lines[index].rstrip())
            if match is None:
                message = f"expected a row of {table}, found {lines[index][:40]!r}"
                raise HloSyntaxError(message, index + 1, 1)
            number, *fields = match.groups()
            if int(number) in self._rows[table]:
                message = f"{table} has row {number} twice"
                raise HloSyntaxError(message, index + 1, 1)
            self._rows[table][int(number)] = (index + 1, tuple(fields))
            index += 1
        return index

    def resolve(self) -> Mapping[int, tuple[Frame, ...]]:
        """Follow each stack frame to its outermost caller; innermost frame first.

        The text numbers the parent of a frame one higher than it is, so that 1 is "none": the printer adds one
        to the index it keeps, which already counts from one (measured against `HloModuleProto.stack_frame_index`).
        That of libtpu 0.0.34 adds nothing: there 0 is "none", which is found in no table of the other kind.
        Columns in the text count from zero as Python's own do; here they count from one, the end column being
        the one after the last character.

        Raises:
            HloSyntaxError: A row refers to a row that is not there, or frames call each other in a circle.
        """
        chains: dict[int, tuple[Frame, ...]] = {}
        parents = self._find_parents()
        for first in self._rows["StackFrames"]:
            # Walk outwards to a frame that is resolved or has no parent, then build inwards again.
            path: list[int] = []
            number = first
            while number and number not in chains:
                if number in path:
                    message = f"stack frame {number} is its own caller"
                    raise HloSyntaxError(message, self._rows["StackFrames"][number][0], 1)
                path.append(number)
                self._row("StackFrames", number, self._line(path))
                number = parents[number]
            for number in reversed(path):
                line, (location, _) = self._row("StackFrames", number, 1)
                chains[number] = (self._frame(int(location or 0), line), *chains.get(parents[number], ()))
        return {number: chains[number] for number in self._rows["StackFrames"]}

    def _find_parents(self) -> dict[int, int]:
        """Return the frame that called each, or 0."""
        told = {number: fields[1] for number, (_, fields) in self._rows["StackFrames"].items()}
        none = 0 if any(parent is not None and int(parent) == 0 for parent in told.values()) else 1
        return {number: int(parent) - none if parent is not None else 0 for number, parent in told.items()}

    def _line(self, path: list[int]) -> int:
        """The line of the frame that named the last one of a path."""
        frames = self._rows["StackFrames"]
        return frames[path[-2]][0] if len(path) > 1 else frames[path[-1]][0]

    def _row(self, table: str, number: int, line: int) -> tuple[int, tuple[str | None, ...]]:
        row = self._rows[table].get(number)
        if row is None:
            message = f"{table} has no row {number}"
            raise HloSyntaxError(message, line, 1)
        return row

    def _frame(self, location: int, asked: int) -> Frame:
        line, (file, function, *numbers) = self._row("FileLocations", location, asked)
        start, end, column, end_column = (int(number) if number else 0 for number in numbers)
        return Frame(
            file=unquote(self._row("FileNames", int(file or 0), line)[1][0] or ""),
            function=unquote(self._row("FunctionNames", int(function or 0), line)[1][0] or ""),
            line=start,
            column=column + 1,
            end_line=end or start,
            end_column=end_column + 1,
        )
