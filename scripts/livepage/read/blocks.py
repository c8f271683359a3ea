"""The reader of everything that runs on a page: executed fences, checks and values, each with its file and line.

The build and the tests both use `read_pieces`, so neither can miss a piece that the other one runs. Anything that
would silently not run is reported as a fault: a header that the Markdown renderer does not accept, an unknown option,
or a fence that is never closed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from livepage.read.fence_headers import read_header
from livepage.read.source_lines import Failure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from livepage.read.fence_headers import Header
    from livepage.read.source_lines import Origin

# A fence opens as in `pymdownx.superfences`: after white space and block quote marks; a backtick later in the
# line makes it inline code.
_OPENS = re.compile(r"(?P<lead>[ \t>]*)(?P<fence>`{3,}|~{3,})(?P<header>[^`\n]*)$")
# A fence that opens on the line of a list item, which superfences does not recognize as a fence.
_ITEM_OPENS = re.compile(r"[ \t>]*(?:[-+*]|\d+[.)])[ \t]+(?P<fence>`{3,}|~{3,})[^`\n]*$")
# An inline code span, as Python-Markdown finds it.
_SPAN = re.compile(r"(?<!\\)(?P<ticks>`+)(?P<body>.+?)(?<!`)(?P=ticks)(?!`)", re.DOTALL)
_HEADING = re.compile(r"[ \t>]*#{1,6}[ \t]?")
_UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*$")
_PROMPTS = {"pycon": (">>> ", "... "), "console": ("$ ", "% ")}
_EXPLICIT_ID = re.compile(r"\{:?[^}\n]*#[\w:.-]+[^}\n]*\}[ \t]*$")

VALUE_MARK = "livepage-value-"
"""The prefix of a value's placeholder while a page is converted; the number of the value follows."""

SAYS = "Checked in this build: "
"""The text before the claim of a check, for screen readers and the search."""


class Kind(StrEnum):
    """The kind of code on a page: an executed fence, a check, or a value in prose."""

    BLOCK = "block"
    CHECK = "check"
    VALUE = "value"


@dataclass(frozen=True)
class Piece:
    """Code on a page: an executed fence, a check or a value.

    Attributes:
        kind: The kind of the piece.
        code: The source that runs; an expression for a value.
        origin: The line of the fence's header, or of the value.
        lines: The origin of each line of `code`.
        options: The options of the fence, as written.
        language: The language of the source.
        listing: The source as displayed, if it has prompts.
    """

    kind: Kind
    code: str
    origin: Origin
    lines: tuple[Origin, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    language: str = "python"
    listing: str = ""

    def holds(self, origin: Origin) -> bool:
        """Return whether a line belongs to the piece."""
        return origin == self.origin or origin in self.lines


@dataclass(frozen=True, slots=True)
class SearchEntry:
    """The search entry for an element that a block printed.

    Attributes:
        id: The id of the element.
        title: The entry's title as HTML; without a title the text is found as part of the surrounding section.
        text: The entry's text as HTML.
        boost: The factor by which the entry ranks above mentions on other pages.
    """

    id: str
    title: str
    text: str
    boost: float = 1.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of running a piece.

    Attributes:
        text: The output of a block, the text of a value, or the source of the functions that asserted for a check.
        gap: The reason why the piece could not run on this machine, or an empty string.
        target: The missing target, if there is a gap.
        failure: The failure, or None.
        follows: Whether the piece only failed because a block above it failed.
        entries: The search entries for the output of a block.
        waits: Whether the piece is still running in another process.
        exact: The exact value behind a rounded text, or an empty string.
        made: For the last piece of a page, descriptions of the tools that produced the page's values.
    """

    text: str = ""
    gap: str = ""
    target: str = ""
    failure: Failure | None = None
    follows: bool = False
    entries: tuple[SearchEntry, ...] = ()
    waits: bool = False
    exact: str = ""
    made: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """A page as read.

    Attributes:
        name: The page's file, relative to the project.
        lines: The page's text, with each piece replaced by a placeholder that contains its index.
        origins: The origin of each of these lines.
        pieces: The pieces that run, in reading order.
        faults: The errors in the page's markup.
    """

    name: str
    lines: tuple[str, ...]
    origins: tuple[Origin, ...]
    pieces: tuple[Piece, ...]
    faults: tuple[Failure, ...]

    def count(self, kind: Kind) -> int:
        """Return the number of pieces of one kind."""
        return sum(piece.kind is kind for piece in self.pieces)


def read_pieces(name: str, lines: Sequence[str], origins: Sequence[Origin]) -> Source:
    """Return a page as read, from lines in which includes are already expanded.

    Args:
        name: The page's file, relative to the project.
        lines: The page's text.
        origins: The origin of each line, as many as there are lines.
    """
    reader = _BlockReader(lines, origins)
    reader.scan()
    places = tuple(origins[at] for at in reader.places)
    return Source(name, tuple(reader.out), places, tuple(reader.pieces), tuple(reader.faults))


class _BlockReader:
    """The single pass over a page's lines that collects pieces and faults, and writes the text with placeholders."""

    def __init__(self, lines: Sequence[str], origins: Sequence[Origin]) -> None:
        self.lines = lines
        self.origins = origins
        self.out: list[str] = []
        self.places: list[int] = []
        self.pieces: list[Piece] = []
        self.faults: list[Failure] = []

    def scan(self) -> None:
        prose: list[int] = []
        at = 0
        while at < len(self.lines):
            line = self.lines[at]
            if opens := _OPENS.match(line):
                self._prose(prose)
                at = self._fence(at, opens)
            elif line.strip().startswith("<!--"):
                self._prose(prose)
                at = self._comment(at)
            elif not line.strip():
                self._prose(prose)
                self._write([line], [at])
                at += 1
            else:
                prose.append(at)
                if opens := _ITEM_OPENS.match(line):
                    self._fault(at, "a fence cannot open on the line of a list item: put it on a line of its own")
                    at = self._past(opens["fence"], at, prose)
                at += 1
        self._prose(prose)

    def _write(self, lines: Sequence[str], places: Sequence[int]) -> None:
        """Add lines to the text with placeholders, each with the index of the page's line that it comes from."""
        self.out += lines
        self.places += places

    def _past(self, fence: str, at: int, prose: list[int]) -> int:
        """Return the index of the line that would close an invalid fence, or `at`; the lines up to it become prose."""
        for end in range(at + 1, len(self.lines)):
            if self.lines[end].strip(" \t>") == fence:
                prose += range(at + 1, end + 1)
                return end
        return at

    def _fault(self, at: int, message: str) -> None:
        self.faults.append(Failure(self.origins[at], message))

    def _comment(self, at: int) -> int:
        while at < len(self.lines):
            self._write([self.lines[at]], [at])
            at += 1
            if "-->" in self.lines[at - 1]:
                break
        return at

    def _fence(self, at: int, opens: re.Match[str]) -> int:
        end = self._closing(at, opens)
        if end is None:
            self._fault(at, "this fence is never closed: its last line must be the same marks, indented alike")
            self._write([self.lines[at]], [at])
            return at + 1
        try:
            header = read_header(opens["header"])
        except ValueError as error:
            self._fault(at, str(error))
            self._write([f"{opens['lead']}{opens['fence']}text", *self.lines[at + 1 : end + 1]], range(at, end + 1))
            return end + 1
        if not header.kind:
            self._write(self.lines[at : end + 1], range(at, end + 1))
            return end + 1
        lead, fence = opens["lead"], opens["fence"]
        self._write([f"{lead}{fence}{header.write(len(self.pieces))}", f"{lead}{fence}"], [at, end])
        code = [_dedent(line, len(lead)) for line in self.lines[at + 1 : end]]
        self.pieces.append(_make_piece(header, code, self.origins[at], self.origins[at + 1 : end]))
        return end + 1

    def _closing(self, at: int, opens: re.Match[str]) -> int | None:
        width = len(opens["lead"].expandtabs(4))
        closes = re.compile(rf"[ \t>]*{opens['fence']}[ \t]*$")
        for end in range(at + 1, len(self.lines)):
            line = self.lines[end]
            lead = re.match(r"[ \t>]*", line)
            if closes.match(line) and lead and len(lead[0].expandtabs(4)) == width:
                return end
            # A less indented line ends the fold, tab or list item that holds the fence.
            if line.strip(" \t>") and lead and len(lead[0].expandtabs(4)) < width:
                return None
        return None

    def _prose(self, numbers: list[int]) -> None:
        """Write the paragraph on these lines with placeholders for its values, and clear the list of lines."""
        if not numbers:
            return
        text = "\n".join(self.lines[at] for at in numbers)
        marked, last = [], 0
        for span, expression in _values(text):
            at = numbers[text.count("\n", 0, span.start())]
            self._check_heading(at, numbers[-1])
            marked += [text[last : span.start()], f"`{VALUE_MARK}{len(self.pieces)}`"]
            # A value may continue on the next line; the text must keep its number of lines for the origins.
            marked += ["\n"] * span[0].count("\n")
            last = span.end()
            self.pieces.append(Piece(Kind.VALUE, expression, self.origins[at], (self.origins[at],)))
        self._write(("".join(marked) + text[last:]).split("\n"), numbers)
        numbers.clear()

    def _check_heading(self, at: int, last: int) -> None:
        line = self.lines[at]
        underlined = at < last and _UNDERLINE.match(self.lines[at + 1]) is not None
        if (underlined or _HEADING.match(line)) and not _EXPLICIT_ID.search(line):
            self._fault(at, "a heading with a value needs an explicit id, as in `## Title {#title}`")


def _make_piece(header: Header, code: list[str], origin: Origin, lines: Sequence[Origin]) -> Piece:
    """Return the piece for a fence; of a fence with prompts, only the lines with a prompt run and are displayed."""
    listing = ""
    if prompts := _PROMPTS.get(header.language):
        inputs = [(text[len(prompts[0]) :], text, line) for text, line in zip(code, lines, strict=True)
                 if text.startswith(prompts)]  # fmt: skip
        code, lines = [text for text, _, _ in inputs], [line for _, _, line in inputs]
        listing = "\n".join(text for _, text, _ in inputs)
    kind = Kind(header.kind)
    return Piece(kind, "\n".join(code), origin, tuple(lines), header.options, header.language, listing)


def _values(text: str) -> Iterator[tuple[re.Match[str], str]]:
    for span in _SPAN.finditer(text):
        body = span["body"]
        if len(span["ticks"]) > 1 and body.startswith(" ="):
            body = body.strip()
        if body.startswith("= "):
            yield span, re.sub(r"\n[ \t>]*", " ", body[2:]).strip()


def _dedent(line: str, width: int) -> str:
    """Remove up to `width` columns of white space and quote marks from the start of a line."""
    lead = re.match(rf"[ \t>]{{0,{width}}}", line)
    return line[lead.end() :] if lead else line
