"""What is said of an exercise: the verdict, and remarks of a sentence and the lines of the dump that it speaks of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from xla_inspect.practice.marking.exercises import Place

SHOWN = 8
"""The most lines of a dump that stand under a sentence."""

WIDTH = 160
"""The most characters of such a line that are shown; what differs stands at its beginning or at its end."""

RIGHT, WRONG, UNWRITTEN = "right", "wrong", "unwritten"
"""What can be said of an exercise."""


@dataclass(frozen=True)
class Remark:
    """One thing that a check says.

    Attributes:
        good: Whether it is as it should be.
        text: What was found and, where it is not as it should be, what to do; code between backticks.
        lines: The lines of the dump that show it.
        language: What they are written in, by the name of a lexer.
    """

    good: bool
    text: str
    lines: tuple[str, ...] = ()
    language: str = "text"


@dataclass(frozen=True)
class ExerciseVerdict:
    """What is said of an exercise.

    Attributes:
        verdict: `RIGHT`, `WRONG` or `UNWRITTEN`.
        remarks: What the check says.
        places: What is still to be written.
        printed: The first lines that the file printed, each with its place.
        printed_lines: How many lines it printed.
    """

    verdict: str
    remarks: tuple[Remark, ...]
    places: tuple[Place, ...] = ()
    printed: tuple[str, ...] = ()
    printed_lines: int = 0


def read_remark(written: Mapping[str, Any]) -> Remark:
    """Return a remark from what JSON holds of it."""
    return Remark(written["good"], written["text"], tuple(written["lines"]), written["language"])


def good(text: str, lines: Iterable[str] = (), language: str = "text") -> Remark:
    """Return a remark that is as it should be."""
    return Remark(good=True, text=text, lines=cut(lines), language=language)


def bad(text: str, lines: Iterable[str] = (), language: str = "text") -> Remark:
    """Return a remark that is not as it should be."""
    return Remark(good=False, text=text, lines=cut(lines), language=language)


def judge(holds: bool, right: str, wrong: str, lines: Iterable[str] = (), language: str = "text") -> Remark:  # noqa: FBT001 - a condition
    """Return what was found, in one of two sentences; the lines are shown where it is not as it should be."""
    return good(right) if holds else bad(wrong, lines, language)


def cut(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the first lines, the middle of long ones left out, and how many more there are."""
    lines_cut = [
        line if len(line) <= WIDTH else f"{line[: WIDTH // 2]} ... {line[-WIDTH // 2 :]}"
        for line in map(str.rstrip, lines)
    ]
    more = len(lines_cut) - SHOWN
    return (*lines_cut[:SHOWN], *([f"... and {more} more"] if more > 0 else []))


class WrongError(Exception):
    """What was written is wrong in a way that leaves nothing more to check.

    Args:
        remark: What is wrong.
    """

    def __init__(self, remark: Remark) -> None:
        """Keep the remark."""
        super().__init__(remark.text)
        self.remark = remark
