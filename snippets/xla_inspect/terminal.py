"""The writer of the commands' output: headings, wrapped prose, listings and tables, with colors only in a terminal."""

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
"""The maximum width of prose in columns, which is also its width in a pipe."""

ANSWER_WIDTH = 80
"""The maximum width of an answer in columns."""

TOLD = "XLA_INSPECT_COLUMNS"
"""The variable with the width of the color terminal that shows the output of a child process."""

NARROW = 40
"""The minimum width. A narrower terminal wraps the lines itself."""

ROOM = 44
"""The minimum width of a table's last column. With less room, its cells are printed below the other cells."""

INDENT = "    "

PIPE_CLOSED = 141
"""The exit status if the reader of the output closed the pipe: a shell's status for a program that SIGPIPE ended."""

CONTINUED = " \\"
"""The mark at the end of a line that continues in the next, as in Python and in a shell."""

_STYLES = {"title": "1;36", "heading": "1", "faint": "2", "strong": "1", "good": "32", "bad": "31"}
_LONG_NAME = re.compile(r"(?<![^\s])([^\s=]{16})[^\s=]{129,}([^\s=]{16})(?![^\s])")
"""A word of more than 160 characters without `=`, which is longer than a usual path; its two ends are groups."""

_LOG = re.compile(
    r"(?:[IWE]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [\w./-]+\.(?:cc|h):\d+\] "
    r"|WARNING: All log messages before absl::InitializeLog\(\) is called are written to STDERR$)"
)
"""The beginning of a log line of XLA's C++ code: its severity, the date, a thread, and the place in XLA."""

_CODE = re.compile(r"`([^`]+)`")


class Paper:
    """A writer of formatted text to a stream.

    Args:
        stream: The stream.
        colour: Whether escape sequences may be written.
        width: The width of prose in columns, and of listings if `fold` is true.
        fold: Whether long lines of listings are wrapped, which suits a terminal but not a pipe.
        indent: The prefix of each line of a table or listing.
    """

    def __init__(
        self, stream: TextIO, *, colour: bool = False, width: int = WIDTH, fold: bool = False, indent: str = INDENT
    ) -> None:
        """Store the settings."""
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
        """Print a wrapped paragraph, with the text between backticks in color if colors are on."""
        self._lines(self._inline(_fill(" ".join(text.split()), self.width, "", "")), "")

    def item(self, text: str) -> None:
        """Print an item of a list, wrapped."""
        self._lines(self._inline(_fill(" ".join(text.split()), self.width, "* ", "  ")))

    def show(self, text: str, language: str = "text") -> None:
        """Print an indented listing, highlighted for its language. A backslash ends a line that continues."""
        width = self.width - len(self.indent)
        whole = [_break(line, width) if self.fold else [line] for line in text.rstrip().splitlines()]
        marks = [mark for parts in whole for mark in (*[CONTINUED] * (len(parts) - 1), "")]
        coloured = self._paint("\n".join(part for parts in whole for part in parts), language).splitlines()
        indented = (f"{self.indent}{line}".rstrip() for line in coloured)
        self._lines(*(line + self._style(mark, "faint") for line, mark in zip(indented, marks, strict=False)), "")

    def table(self, header: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: Collection[int] = ()) -> None:
        """Print a table. Its last column is wrapped if it does not fit, unless it contains numbers.

        Args:
            header: The column headings.
            rows: The cells. An int is printed with thousands separators.
            numbers: The indices of the columns that are aligned to the right.
        """
        cells = [[f"{cell:,}" if isinstance(cell, int) else cut_names(str(cell)) for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
        last = len(header) - 1
        margin = len(self.indent) + sum(width + 2 for width in widths[:last])
        room = self.width - margin
        folded = self.fold and last not in numbers and widths[last] > room
        # Long texts go below the other cells if the space to their right is too narrow.
        below = folded and room < ROOM
        for number, row in enumerate([list(header), *cells]):
            start = self.indent + "".join(
                f"{_pad(cell, widths[at], right=at in numbers)}  " for at, cell in enumerate(row[:-1])
            )
            end = _pad(row[last], widths[last], right=True) if last in numbers else row[last]
            if below and end:
                text = f"{start.rstrip()}\n{_fill(end, self.width, self.indent * 2, self.indent * 2)}"
            elif folded and end:
                text = _fill(end, self.width, start, " " * margin)
            else:
                text = start + end
            lines = [line.rstrip() for line in text.split("\n")]
            self._lines(*(lines if number else [self._style(line, "faint") for line in lines]))
        self._lines("")

    def verdict(self, text: str, *, good: bool) -> None:
        """Print a paragraph in the color of success or of failure."""
        for line in _fill(" ".join(text.split()), self.width, "", "").split("\n"):
            self._lines(self._style(line, "good" if good else "bad"))
        self._lines("")

    def hint(self, text: str, command: str = "") -> None:
        """Print a next step: a sentence, and below it the command, which is never wrapped."""
        lines = _fill(" ".join(text.split()), self.width, "", "").split("\n")
        self._lines(*lines, *([self.indent + self._style(command, "strong")] if command else []), "")

    def links(self, addresses: Mapping[str, str]) -> None:
        """Print links for further reading, by title."""
        self.heading("Read on")
        for title, address in addresses.items():
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
        """Return a listing, highlighted with escape sequences if colors are on and Pygments is installed."""
        if not self.colour or language == "text" or importlib.util.find_spec("pygments") is None:
            return text
        import pygments
        from pygments.formatters import TerminalFormatter
        from pygments.lexers import get_lexer_by_name

        # Empty lines at the start are part of a listing, so they must not be removed.
        lexer = get_lexer_by_name(language, stripnl=False)
        return pygments.highlight(text, lexer, TerminalFormatter()).rstrip("\n")


def open_answer_paper(stream: TextIO | None = None, environment: Mapping[str, str] = os.environ) -> Paper:
    """Return a `Paper` for an answer on a stream (default: standard output), of at most 80 columns, also in a pipe."""
    paper = open_paper(stream, environment)
    # In a child process, the stream is a pipe, so the parent process describes its terminal in a variable.
    columns = environment.get(TOLD, "")
    colour, width = (True, int(columns)) if columns.isdecimal() else (paper.colour, paper.width)
    return Paper(paper.stream, colour=colour, width=min(width, ANSWER_WIDTH), fold=True, indent="  ")


def describe_terminal(stream: TextIO, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment variable that tells a child process, which writes to a pipe, the terminal's width.

    Its value is an empty string if the stream has no colors.
    """
    paper = open_paper(stream, environment)
    return {TOLD: str(paper.width) if paper.colour else ""}


def open_paper(stream: TextIO | None = None, environment: Mapping[str, str] = os.environ) -> Paper:
    """Return a `Paper` for a stream: colored and folded in a terminal, plain in a pipe or a file.

    `NO_COLOR`, set to any value, turns colors off (https://no-color.org), and so does `TERM=dumb`.

    Args:
        stream: The stream, by default standard output.
        environment: The environment variables.
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
    """Return whether a stream is a terminal that interprets escape sequences, which `TERM=dumb` denies."""
    return stream.isatty() and environment.get("TERM") != "dumb" and understands_colour(environment)


def understands_colour(environment: Mapping[str, str], system: str = os.name) -> bool:
    """Return whether terminals of this system interpret escape sequences. On Windows, newer ones set a variable."""
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
    """Return a line of a listing in pieces that fit with a mark, broken after spaces. A long word stays whole."""
    if len(line) <= width:
        return [line]
    # Each piece but the last one is followed by the mark.
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
    """Return text with very long names shortened in the middle. JSON and commands have the whole names."""
    return _LONG_NAME.sub(r"\1…\2", text)


def drop_logs(lines: Iterable[str]) -> Iterator[str]:
    """Return an iterator over the lines of a process without XLA's log lines, except those about a fatal error.

    Important errors are raised as exceptions. If `TF_CPP_VMODULE` requests logs, all lines are yielded.
    """
    is_wanted = "TF_CPP_VMODULE" in os.environ
    return (line for line in lines if is_wanted or not _LOG.match(line))


def printable(text: str) -> str:
    """Return text with unprintable characters escaped, such as those of terminal escape sequences."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


def print_note(text: str) -> None:
    """Print a message that is not part of an answer to standard error, in one write since other threads print too."""
    sys.stderr.write(f"xla-inspect: {text}\n")
    sys.stderr.flush()
