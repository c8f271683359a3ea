"""A line of text assembled from pieces of a source text, with the position of each piece in the source."""

from __future__ import annotations

from array import array
from bisect import bisect_right


class Line:
    """A line under construction: its pieces, each with its offset in the line and in the source."""

    __slots__ = ("length", "marks", "pieces")

    def __init__(self) -> None:
        """Start with an empty line."""
        self.pieces: list[str] = []
        # A long text has many pieces, so arrays of machine integers store their offsets compactly.
        self.marks = (array("q"), array("q"))
        self.length = 0

    def put(self, text: str, source: int) -> None:
        """Append a piece of text that comes from an offset of the source."""
        self.marks[0].append(self.length)
        self.marks[1].append(source)
        self.pieces.append(text)
        self.length += len(text)

    def put_name(self, name: str, source: int, text: str) -> None:
        """Append `%` and a name, which is at offset `source` of the source `text` with or without `%`."""
        self.put("%", source)
        self.put(name, source + text.startswith("%", source))

    def add(self, other: Line) -> None:
        """Append all pieces of another line, with their source offsets."""
        self.marks[0].extend(start + self.length for start in other.marks[0])
        self.marks[1].extend(other.marks[1])
        self.pieces.extend(other.pieces)
        self.length += other.length

    def __str__(self) -> str:
        """Return the text of the line."""
        return "".join(self.pieces)

    def locate(self, column: int) -> int:
        """Return the offset in the source of the character at a column of this line; both count from 0."""
        starts, sources = self.marks
        if not starts:
            return 0
        index = max(bisect_right(starts, column) - 1, 0)
        # A piece may be longer than its source text, so the column is limited to the end of the piece.
        limit = len(self.pieces[index]) if index < len(self.pieces) else 0
        return sources[index] + min(column - starts[index], limit)
