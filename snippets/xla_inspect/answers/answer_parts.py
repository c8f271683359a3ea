"""The parts of an answer: paragraphs, tables, hints and listings, and how they are read in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of an answer.

    Attributes:
        columns: What the cells of each column are, with their unit where it is the same in all.
        rows: The cells as they are shown.
        numbers: The columns, counted from none, that are aligned to the right.
        title: What the rows are, or an empty string.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    title: str = ""


@dataclass(frozen=True, slots=True)
class Hint:
    """A command, or a change of the program, that would help, said last.

    Attributes:
        text: What it would do, or why.
        command: What to type, or an empty string.
    """

    text: str
    command: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """Lines of code, such as a difference.

    Attributes:
        text: The lines.
        title: What they are.
    """

    text: str
    title: str


def suggest(question: str, asked: str, *options: str) -> str:
    """Return a command line that asks a question.

    Args:
        question: The question, which is the subcommand.
        asked: The subject with the options that are the same for each question, as `retype` of the commands gives it.
        *options: The question's own options.
    """
    return " ".join(("xla-inspect", question, *options, asked))


type Part = str | Table | Hint | Listing
"""A piece of what is told: a paragraph, rows, what to do next, or lines of code."""


class Tellable(Protocol):
    """A value that is told part by part, the first of which is the answer itself."""

    @property
    def holds(self) -> bool:
        """True where the answer is the one that is hoped for."""

    def tell(self) -> Iterator[Part]:
        """Yield the parts in the order in which they are read."""
