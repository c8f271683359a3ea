"""A reader of the stack-frame tables at the start of HLO text, which resolves them to call chains in Python code."""

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
    """Split a module's text into its stack-frame tables, which may be empty, and the text without them."""
    match = _HEAD.search(text)
    return (match[0], text[: match.start()] + text[match.end() :]) if match else ("", text)


def read_frames(tables: str) -> Mapping[int, tuple[Frame, ...]]:
    """Return the call chain of each stack frame by its number in the tables' text, innermost frame first.

    Raises:
        HloSyntaxError: A row is malformed, repeats a number or refers to a missing row, or a frame is its own caller.
    """
    reader, lines, index = Tables(), tables.split("\n"), 0
    while index < len(lines):
        index = reader.read(lines, index) if lines[index] in TABLES else index + 1
    return reader.resolve()


class Tables:
    """A reader of the four stack-frame tables, which stores their rows and then resolves them to call chains."""

    def __init__(self) -> None:
        """Start with no rows."""
        self._rows: dict[str, dict[int, tuple[int, tuple[str | None, ...]]]] = {table: {} for table in TABLES}

    def read(self, lines: Sequence[str], start: int) -> int:
        """Read the table whose title is on line index `start`, and return the index of the line after its rows.

        Raises:
            HloSyntaxError: A row is malformed or repeats a number.
        """
        table = lines[start].rstrip()
        index = start + 1
        while index < len(lines) and lines[index].strip():
            # The blank line between two tables may be missing, so the next title also ends a table.
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
        """Return the call chain of each stack frame by number: the frame itself first, its outermost caller last.

        The text prints the number of a parent frame plus one, so 1 means "none": the printer adds one to an index that
        already counts from 1 (checked against `HloModuleProto.stack_frame_index`). The printer of libtpu 0.0.34 does
        not add one, so 0 means "none" there; 0 never occurs in other tables. Columns in the text count from 0, as in
        Python; here they count from 1, and the end column is the one after the last character.

        Raises:
            HloSyntaxError: A row refers to a missing row, or frames call each other in a cycle.
        """
        chains: dict[int, tuple[Frame, ...]] = {}
        parents = self._find_parents()
        for first in self._rows["StackFrames"]:
            # Walk outward to a frame that is resolved or has no parent, then build the chains on the way back.
            path: list[int] = []
            number = first
            while number and number not in chains:
                if number in path:
                    message = f"stack frame {number} is its own caller"
                    raise HloSyntaxError(message, self._rows["StackFrames"][number][0], 1)
                path.append(number)
                # Look the row up now, so that an error points at the row that refers to it.
                self._row("StackFrames", number, self._line(path))
                number = parents[number]
            for number in reversed(path):
                line, (location, _) = self._row("StackFrames", number, 1)
                chains[number] = (self._frame(int(location or 0), line), *chains.get(parents[number], ()))
        return {number: chains[number] for number in self._rows["StackFrames"]}

    def _find_parents(self) -> dict[int, int]:
        """Return the number of each frame's caller by the frame's number, or 0 for an outermost frame."""
        parents = {number: fields[1] for number, (_, fields) in self._rows["StackFrames"].items()}
        # Only a printer that does not add one to the numbers can write 0, so a single 0 decides for the whole table.
        offset = 0 if any(parent is not None and int(parent) == 0 for parent in parents.values()) else 1
        return {number: int(parent) - offset if parent is not None else 0 for number, parent in parents.items()}

    def _line(self, path: list[int]) -> int:
        """Return the line of the row that refers to the path's last frame, or of that frame if it is the only one."""
        frames = self._rows["StackFrames"]
        return frames[path[-2]][0] if len(path) > 1 else frames[path[-1]][0]

    def _row(self, table: str, number: int, line: int) -> tuple[int, tuple[str | None, ...]]:
        row = self._rows[table].get(number)
        if row is None:
            message = f"{table} has no row {number}"
            raise HloSyntaxError(message, line, 1)
        return row

    def _frame(self, location: int, frame_line: int) -> Frame:
        line, (file, function, *numbers) = self._row("FileLocations", location, frame_line)
        start, end, column, end_column = (int(number) if number else 0 for number in numbers)
        # The end positions are optional in the text; without them, the frame ends on its first line.
        return Frame(
            file=unquote(self._row("FileNames", int(file or 0), line)[1][0] or ""),
            function=unquote(self._row("FunctionNames", int(function or 0), line)[1][0] or ""),
            line=start,
            column=column + 1,
            end_line=end or start,
            end_column=end_column + 1,
        )
