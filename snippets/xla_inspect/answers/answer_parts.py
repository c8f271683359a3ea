"""The parts of an answer in reading order: paragraphs, tables, hints and listings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Table:
    """A table in an answer.

    Attributes:
        columns: The headings, with the unit if all cells of a column share it.
        rows: The cells as text.
        numbers: The indices of the columns that are aligned to the right.
        title: The table's caption, or an empty string.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    title: str = ""


@dataclass(frozen=True, slots=True)
class Hint:
    """A command to try or a change to the program, at the end of an answer.

    Attributes:
        text: The effect of the command or the change, or the reason for it.
        command: The command line to type, or an empty string.
    """

    text: str
    command: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """Lines of code in an answer, such as a difference.

    Attributes:
        text: The lines.
        title: The listing's caption.
    """

    text: str
    title: str


def suggest(question: str, command_words: str, *options: str) -> str:
    """Return a command line that asks a question.

    Args:
        question: The name of the question, which is the subcommand.
        command_words: The subject and the options that all questions share, as `write_subject` returns them.
        *options: The question's own options.
    """
    # The options come first, since the words after a script are the script's own arguments.
    return " ".join(("xla-inspect", question, *options, command_words))


type Part = str | Table | Hint | Listing
"""A part of an answer: a paragraph, a table, a next step, or lines of code."""


class Tellable(Protocol):
    """The protocol of a value that yields its parts for printing. The first part is the answer as one sentence."""

    @property
    def holds(self) -> bool:
        """True if the answer is good."""

    def tell(self) -> Iterator[Part]:
        """Yield the parts in reading order."""
