"""What a question about a program comes to: plain data, and how it is told, the answer itself first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

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


class Answer:
    """The answer to one question about one program: each is a frozen dataclass of plain data.

    Its fields are what JSON holds of it, so each has its unit in its name or in the docstring: bytes, seconds, flops.
    """

    @property
    def holds(self) -> bool:
        """Whether the answer is the one that is hoped for, such as that a program fits; decides the exit status."""
        return True

    def tell(self) -> Iterator[Part]:
        """Yield the answer in the order in which it is read: the first part says it in one sentence."""
        raise NotImplementedError

    def __str__(self) -> str:
        """The answer as a command prints it, without colours."""
        from xla_inspect.answers.text import print_text

        return print_text(self)

    def __init_subclass__(cls) -> None:
        """Let IPython's console show an answer as a command does: it takes a class's own method before its `repr`."""
        cls._repr_pretty_ = lambda self, printer, _: printer.text(str(self))  # type: ignore[attr-defined]  # IPython's

    def _repr_html_(self) -> str:
        """Show the answer in a notebook."""
        from xla_inspect.answers.html import write_fragment

        return write_fragment(self)
