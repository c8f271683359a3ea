"""The result of marking an exercise: the verdict, and remarks with the lines of the dump that they refer to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from xla_inspect.practice.marking.exercises import Place

SHOWN = 8
"""The maximum number of lines of a dump below a remark."""

WIDTH = 160
"""The maximum number of characters of such a line; differences are usually at its start or end."""

RIGHT, WRONG, UNWRITTEN = "right", "wrong", "unwritten"
"""The possible verdicts on an exercise."""


@dataclass(frozen=True)
class Remark:
    """One remark of a check.

    Attributes:
        good: Whether the exercise is right in this respect.
        text: The observation and, if it is wrong, what to do; code is between backticks.
        lines: The lines of the dump that prove it.
        language: The language of the lines, as the name of a lexer.
    """

    good: bool
    text: str
    lines: tuple[str, ...] = ()
    language: str = "text"


@dataclass(frozen=True)
class ExerciseVerdict:
    """The verdict on an exercise with its remarks.

    Attributes:
        verdict: `RIGHT`, `WRONG` or `UNWRITTEN`.
        remarks: The remarks of the check.
        places: The places that are not written yet.
        printed: The first lines that the file printed.
        printed_lines: The number of lines that it printed.
    """

    verdict: str
    remarks: tuple[Remark, ...]
    places: tuple[Place, ...] = ()
    printed: tuple[str, ...] = ()
    printed_lines: int = 0


def read_remark(content: Mapping[str, Any]) -> Remark:
    """Return a remark from its JSON object."""
    return Remark(content["good"], content["text"], tuple(content["lines"]), content["language"])


def good(text: str, lines: Iterable[str] = (), language: str = "text") -> Remark:
    """Return a remark about something right."""
    return Remark(good=True, text=text, lines=cut(lines), language=language)


def bad(text: str, lines: Iterable[str] = (), language: str = "text") -> Remark:
    """Return a remark about something wrong."""
    return Remark(good=False, text=text, lines=cut(lines), language=language)


def judge(holds: bool, right: str, wrong: str, lines: Iterable[str] = (), language: str = "text") -> Remark:  # noqa: FBT001 - a condition
    """Return a good remark with the text `right` if a condition holds, else a bad one with `wrong` and the lines."""
    return good(right) if holds else bad(wrong, lines, language)


def cut(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the first `SHOWN` lines, shortened in the middle if long, and a line with the number of further ones."""
    lines_cut = [
        line if len(line) <= WIDTH else f"{line[: WIDTH // 2]} ... {line[-WIDTH // 2 :]}"
        for line in map(str.rstrip, lines)
    ]
    more = len(lines_cut) - SHOWN
    return (*lines_cut[:SHOWN], *([f"... and {more} more"] if more > 0 else []))


class WrongError(Exception):
    """An error in the reader's code after which nothing more can be checked."""

    def __init__(self, remark: Remark) -> None:
        """Store the remark."""
        super().__init__(remark.text)
        self.remark = remark
