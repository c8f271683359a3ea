"""The one reader of what runs on a page: executed fences, checks and values, each with its file and line.

The build and the tests both read pages through `read_pieces`, so that neither can miss what the other sees.
What would silently not run (a header that the Markdown renderer does not accept, an unknown option, a fence that
is never closed) is a fault here.
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
# A list item may open with a fence, which superfences leaves alone.
_ITEM_OPENS = re.compile(r"[ \t>]*(?:[-+*]|\d+[.)])[ \t]+(?P<fence>`{3,}|~{3,})[^`\n]*$")
# An inline code span, as Python-Markdown finds it.
_SPAN = re.compile(r"(?<!\\)(?P<ticks>`+)(?P<body>.+?)(?<!`)(?P=ticks)(?!`)", re.DOTALL)
_HEADING = re.compile(r"[ \t>]*#{1,6}[ \t]?")
_UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*$")
_PROMPTS = {"pycon": (">>> ", "... "), "console": ("$ ", "% ")}
_EXPLICIT_ID = re.compile(r"\{:?[^}\n]*#[\w:.-]+[^}\n]*\}[ \t]*$")

VALUE_MARK = "livepage-value-"
"""What stands for a value while a page is converted, before its number."""

SAYS = "Checked in this build: "
"""How the claim of a check begins where it is read out or searched."""


class Kind(StrEnum):
    """What a piece of a page is."""

    BLOCK = "block"
    CHECK = "check"
    VALUE = "value"


@dataclass(frozen=True)
class Piece:
    """Code on a page: an executed fence, a check or a value.

    Attributes:
        kind: What it is.
        code: The source that runs; an expression for a value.
        origin: Where it opens: the fence's header, or the line of the value.
        lines: Where each line of `code` stands.
        options: The options of the fence, as written.
        language: The language of the source.
        listing: The source as it is shown, where it has prompts.
    """

    kind: Kind
    code: str
    origin: Origin
    lines: tuple[Origin, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    language: str = "python"
    listing: str = ""

    def holds(self, origin: Origin) -> bool:
        """Return whether a line is one of its own."""
        return origin == self.origin or origin in self.lines


@dataclass(frozen=True, slots=True)
class SearchEntry:
    """What the search finds of an element that a block printed.

    Attributes:
        id: That of the element.
        title: The entry's own, as HTML; without one its text is found with the section around it.
        text: What it says, as HTML.
        boost: How many times as good a result it is as what other pages say of it.
    """

    id: str
    title: str
    text: str
    boost: float = 1.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a piece came to.

    Attributes:
        text: What a block printed, what a value shows, or the functions of modules that asserted for a check.
        gap: Why it could not run on this machine, or an empty string.
        target: The target that is missing, when it is a gap.
        failure: What failed, or None.
        follows: Whether it only failed because a block above it did.
        entries: What the search finds of what a block printed.
        waits: Whether it still runs in another process.
        exact: What a value stands for, where it shows less, or an empty string.
        made: Of the last piece of a page, what made that which the page shows, each in words.
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
        lines: The page's text, in which each piece is replaced by a mark that names its index.
        pieces: What runs, in reading order.
        faults: What is wrong.
    """

    name: str
    lines: tuple[str, ...]
    pieces: tuple[Piece, ...]
    faults: tuple[Failure, ...]

    def count(self, kind: Kind) -> int:
        """Return how many pieces of a kind the page has."""
        return sum(piece.kind is kind for piece in self.pieces)


def read_pieces(name: str, lines: Sequence[str], origins: Sequence[Origin]) -> Source:
    """Read a page whose includes are already expanded.

    Args:
        name: The page's file, relative to the project.
        lines: The page's text.
        origins: Where each line stands, as many as there are lines.
    """
    reader = _BlockReader(lines, origins)
    reader.scan()
    return Source(name, tuple(reader.out), tuple(reader.pieces), tuple(reader.faults))


class _BlockReader:
    """Walks the lines once, collecting pieces and faults and writing the marked text."""

    def __init__(self, lines: Sequence[str], origins: Sequence[Origin]) -> None:
        self.lines = lines
        self.origins = origins
        self.out: list[str] = []
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
                self.out.append(line)
                at += 1
            else:
                prose.append(at)
                if opens := _ITEM_OPENS.match(line):
                    self._fault(at, "a fence cannot open on the line of a list item: put it on a line of its own")
                    at = self._past(opens["fence"], at, prose)
                at += 1
        self._prose(prose)

    def _past(self, fence: str, at: int, prose: list[int]) -> int:
        """Return the line on which a fence that does not count would close, or `at`, its own."""
        for end in range(at + 1, len(self.lines)):
            if self.lines[end].strip(" \t>") == fence:
                prose += range(at + 1, end + 1)
                return end
        return at

    def _fault(self, at: int, message: str) -> None:
        self.faults.append(Failure(self.origins[at], message))

    def _comment(self, at: int) -> int:
        while at < len(self.lines):
            self.out.append(self.lines[at])
            at += 1
            if "-->" in self.lines[at - 1]:
                break
        return at

    def _fence(self, at: int, opens: re.Match[str]) -> int:
        end = self._closing(at, opens)
        if end is None:
            self._fault(at, "this fence is never closed: its last line must be the same marks, indented alike")
            self.out.append(self.lines[at])
            return at + 1
        try:
            header = read_header(opens["header"])
        except ValueError as error:
            self._fault(at, str(error))
            self.out += [f"{opens['lead']}{opens['fence']}text", *self.lines[at + 1 : end + 1]]
            return end + 1
        if not header.kind:
            self.out.extend(self.lines[at : end + 1])
            return end + 1
        lead, fence = opens["lead"], opens["fence"]
        self.out += [f"{lead}{fence}{header.write(len(self.pieces))}", f"{lead}{fence}"]
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
            if line.strip(" \t>") and lead and len(lead[0].expandtabs(4)) < width:
                return None
        return None

    def _prose(self, numbers: list[int]) -> None:
        """Write the paragraph on these lines, its values marked, and forget the lines."""
        if not numbers:
            return
        text = "\n".join(self.lines[at] for at in numbers)
        marked, last = [], 0
        for span, expression in _values(text):
            at = numbers[text.count("\n", 0, span.start())]
            self._check_heading(at, numbers[-1])
            marked += [text[last : span.start()], f"`{VALUE_MARK}{len(self.pieces)}`"]
            marked += ["\n"] * span[0].count("\n")
            last = span.end()
            self.pieces.append(Piece(Kind.VALUE, expression, self.origins[at], (self.origins[at],)))
        self.out.extend(("".join(marked) + text[last:]).split("\n"))
        numbers.clear()

    def _check_heading(self, at: int, last: int) -> None:
        line = self.lines[at]
        underlined = at < last and _UNDERLINE.match(self.lines[at + 1]) is not None
        if (underlined or _HEADING.match(line)) and not _EXPLICIT_ID.search(line):
            self._fault(at, "a heading with a value needs an explicit id, as in `## Title {#title}`")


def _make_piece(header: Header, code: list[str], origin: Origin, lines: Sequence[Origin]) -> Piece:
    """Return a fence that runs; of one with prompts, the lines that have one run, and are shown."""
    listing = ""
    if prompts := _PROMPTS.get(header.language):
        asked = [(text[len(prompts[0]) :], text, line) for text, line in zip(code, lines, strict=True)
                 if text.startswith(prompts)]  # fmt: skip
        code, lines = [text for text, _, _ in asked], [line for _, _, line in asked]
        listing = "\n".join(text for _, text, _ in asked)
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
