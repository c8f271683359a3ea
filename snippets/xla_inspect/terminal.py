"""What commands print: headings, wrapped prose, listings and tables; coloured in a terminal, plain in a pipe."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

WIDTH = 100
"""The most columns that prose takes, and all that it takes in a pipe."""

ANSWER_WIDTH = 80
"""The most columns that an answer takes."""

TOLD = "XLA_INSPECT_COLUMNS"
"""The variable that tells a process of how many columns the terminal is that shows what it prints, in colour."""

NARROW = 40
"""The least: a terminal that is narrower wraps for itself."""

ROOM = 44
"""Columns that the last column of a table takes at least; with less it stands below the others."""

INDENT = "    "

PIPE_CLOSED = 141
"""The exit status where nobody reads any more what is printed: what a shell says of a program that SIGPIPE ended."""

CONTINUED = " \\"
"""What stands at the end of a line that goes on in the next, as in Python and in a shell."""

_STYLES = {"title": "1;36", "heading": "1", "faint": "2", "strong": "1", "good": "32", "bad": "31"}
_LONG_NAME = re.compile(r"(?<![^\s])([^\s=]{16})[^\s=]{129,}([^\s=]{16})(?![^\s])")
"""A name of more than 160 characters, longer than the path of a file usually is, and not the setting of a variable."""

_LOG = re.compile(
    r"(?:[IWE]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [\w./-]+\.(?:cc|h):\d+\] "
    r"|WARNING: All log messages before absl::InitializeLog\(\) is called are written to STDERR$)"
)
"""How a line begins that C++ code of XLA logs: its severity, the date, a thread, and the place in XLA."""

_CODE = re.compile(r"`([^`]+)`")


class Paper:
    """A stream to print on.

    Args:
        stream: Where to.
        colour: Whether escape sequences may be written.
        width: Columns for prose; listings are wrapped to it too where `fold` says so.
        fold: Whether long lines of listings are wrapped, which a terminal needs and a pipe does not want.
        indent: What stands before each line of a table or listing.
    """

    def __init__(
        self, stream: TextIO, *, colour: bool = False, width: int = WIDTH, fold: bool = False, indent: str = INDENT
    ) -> None:
        """Start with nothing printed."""
        self.stream = stream
        self.indent = indent
        self.colour = colour
        self.width = width
        self.fold = fold

    def title(self, text: str) -> None:
        """Print the title of a phase, underlined."""
        lines = _fill(text, self.width, "", "").split("\n")
        self._lines("", *(self._style(line, "title") for line in [*lines, "=" * max(map(len, lines))]), "")

    def heading(self, text: str) -> None:
        """Print the title of a step."""
        self._lines(*(self._style(line, "heading") for line in _fill(text, self.width, "", "  ").split("\n")), "")

    def say(self, text: str) -> None:
        """Print a paragraph, wrapped; what stands between backticks is set off in colour, where there is colour."""
        # The path of a file that is cut is no path.
        self._lines(self._inline(_fill(" ".join(text.split()), self.width, "", "")), "")

    def item(self, text: str) -> None:
        """Print an item of a list, wrapped."""
        self._lines(self._inline(_fill(" ".join(text.split()), self.width, "* ", "  ")))

    def show(self, text: str, language: str = "text") -> None:
        """Print a listing, indented, in the colours of its language; a backslash ends a line that goes on."""
        width = self.width - len(self.indent)
        whole = [_break(line, width) if self.fold else [line] for line in text.rstrip().splitlines()]
        marks = [mark for parts in whole for mark in (*[CONTINUED] * (len(parts) - 1), "")]
        coloured = self._paint("\n".join(part for parts in whole for part in parts), language).splitlines()
        indented = (f"{self.indent}{line}".rstrip() for line in coloured)
        self._lines(*(line + self._style(mark, "faint") for line, mark in zip(indented, marks, strict=False)), "")

    def table(self, header: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: Collection[int] = ()) -> None:
        """Print a table; its last column is wrapped where it does not fit, unless it holds numbers.

        Args:
            header: Column titles.
            rows: Cells; an int is shown with thousands separators.
            numbers: Indexes of the columns that are aligned to the right.
        """
        cells = [[f"{cell:,}" if isinstance(cell, int) else cut_names(str(cell)) for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
        last = len(header) - 1
        left = len(self.indent) + sum(width + 2 for width in widths[:last])
        room = self.width - left
        folded = self.fold and last not in numbers and widths[last] > room
        # With little room beside them, long texts stand below.
        below = folded and room < ROOM
        for number, row in enumerate([list(header), *cells]):
            start = self.indent + "".join(
                f"{_pad(cell, widths[at], right=at in numbers)}  " for at, cell in enumerate(row[:-1])
            )
            end = _pad(row[last], widths[last], right=True) if last in numbers else row[last]
            if below and end:
                text = f"{start.rstrip()}\n{_fill(end, self.width, self.indent * 2, self.indent * 2)}"
            elif folded and end:
                text = _fill(end, self.width, start, " " * left)
            else:
                text = start + end
            lines = [line.rstrip() for line in text.split("\n")]
            self._lines(*(lines if number else [self._style(line, "faint") for line in lines]))
        self._lines("")

    def verdict(self, text: str, *, good: bool) -> None:
        """Print a paragraph in the colour of success or of failure."""
        for line in _fill(" ".join(text.split()), self.width, "", "").split("\n"):
            self._lines(self._style(line, "good" if good else "bad"))
        self._lines("")

    def hint(self, text: str, command: str = "") -> None:
        """Print what to do next: a sentence, and below it what to type, which is never wrapped."""
        lines = _fill(" ".join(text.split()), self.width, "", "").split("\n")
        self._lines(*lines, *([self.indent + self._style(command, "strong")] if command else []), "")

    def links(self, named: Mapping[str, str]) -> None:
        """Print where to read on: a title and an address each."""
        self.heading("Read on")
        for title, address in named.items():
            self._lines(f"* {title}", f"  {self._style(address, 'faint')}")
        self._lines("")

    def _lines(self, *lines: str) -> None:
        for line in lines:
            self.stream.write(f"{line}\n")
        self.stream.flush()

    def _style(self, text: str, style: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.colour and text else text

    def _inline(self, text: str) -> str:
        if not self.colour:
            return text
        return _CODE.sub(lambda match: self._style(match[1], "strong"), text)

    def _paint(self, text: str, language: str) -> str:
        """Return a listing in colours, where there is colour and Pygments to make it."""
        if not self.colour or language == "text" or importlib.util.find_spec("pygments") is None:
            return text
        import pygments
        from pygments.formatters import TerminalFormatter
        from pygments.lexers import get_lexer_by_name

        lexer = get_lexer_by_name(language, stripnl=False)
        return pygments.highlight(text, lexer, TerminalFormatter()).rstrip("\n")


def open_answer_paper(stream: TextIO | None = None, environment: Mapping[str, str] = os.environ) -> Paper:
    """Return paper for an answer, which takes 80 columns at most, in a pipe too."""
    paper = open_paper(stream, environment)
    told = environment.get(TOLD, "")
    colour, width = (True, int(told)) if told.isdecimal() else (paper.colour, paper.width)
    return Paper(paper.stream, colour=colour, width=min(width, ANSWER_WIDTH), fold=True, indent="  ")


def describe_terminal(stream: TextIO, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return what tells a process that prints into a pipe of the terminal at its other end: nothing of no terminal."""
    paper = open_paper(stream, environment)
    return {TOLD: str(paper.width) if paper.colour else ""}


def open_paper(stream: TextIO | None = None, environment: Mapping[str, str] = os.environ) -> Paper:
    """Return paper that suits a stream: coloured and folded in a terminal, plain in a pipe or a file.

    `NO_COLOR`, set to anything, forbids colour (https://no-color.org), and so does `TERM=dumb`.

    Args:
        stream: Where to print, by default the standard output.
        environment: Variables that say what is wanted.
    """
    stream = sys.stdout if stream is None else stream
    terminal = stream.isatty()
    columns = shutil.get_terminal_size((WIDTH, 24)).columns if terminal else WIDTH
    return Paper(
        stream,
        colour=takes_escapes(stream, environment) and not environment.get("NO_COLOR"),
        width=max(NARROW, min(columns, WIDTH)),
        fold=terminal,
    )


def takes_escapes(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether a stream is a terminal that takes escape sequences, which `TERM=dumb` says it does not."""
    return stream.isatty() and environment.get("TERM") != "dumb" and understands_colour(environment)


def understands_colour(environment: Mapping[str, str], system: str = os.name) -> bool:
    """Return whether terminals of this system take escape sequences; on Windows the newer ones say who they are."""
    return system != "nt" or any(environment.get(name) for name in ("WT_SESSION", "ANSICON", "ConEmuANSI", "TERM"))


def _fill(text: str, width: int, first: str, others: str) -> str:
    return textwrap.fill(
        cut_names(text),
        width,
        initial_indent=first,
        subsequent_indent=others,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _pad(text: str, width: int, *, right: bool) -> str:
    return text.rjust(width) if right else text.ljust(width)


def _break(line: str, width: int) -> list[str]:
    """Return a line of a listing in pieces that fit with a mark, cut after spaces; what has none stays whole."""
    if len(line) <= width:
        return [line]
    width -= len(CONTINUED)
    inner = " " * (len(line) - len(line.lstrip()) + 4)
    parts, current = [], ""
    for piece in re.findall(r"\S+\s*|\s+", line):
        if current.strip() and len(current) + len(piece.rstrip()) > width:
            parts.append(current.rstrip())
            current = inner
        current += piece
    return [*parts, current.rstrip()]


def cut_names(text: str) -> str:
    """Return text with names cut in the middle that are too long to be read; JSON and commands have them whole."""
    return _LONG_NAME.sub(r"\1…\2", text)


def drop_logs(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a process without what XLA logs of its own work; what ends the process stays.

    What matters to the reader comes as an exception. `TF_CPP_VMODULE`, which asks for logs, lets all of them pass.
    """
    is_wanted = "TF_CPP_VMODULE" in os.environ
    return (line for line in lines if is_wanted or not _LOG.match(line))


def printable(text: str) -> str:
    """Return text without what a terminal would take for orders, such as escape sequences."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def print_note(text: str) -> None:
    """Print what a command has to say that is no part of its answer, in one piece: other threads print too."""
    sys.stderr.write(f"xla-inspect: {text}\n")
    sys.stderr.flush()
