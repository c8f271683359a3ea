"""What a check found: a sentence, and the lines of the dump that it speaks of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SHOWN = 8
"""The most lines of a dump that stand under a sentence."""

WIDTH = 160
"""The most characters of such a line that are shown; what differs stands at its beginning or at its end."""

RIGHT, WRONG, UNWRITTEN = "right", "wrong", "unwritten"
"""What can be said of an exercise."""


@dataclass(frozen=True)
class Finding:
    """One thing that a check found.

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


def good(text: str, lines: Iterable[str] = (), language: str = "text") -> Finding:
    """Return a finding that is as it should be."""
    return Finding(good=True, text=text, lines=cut(lines), language=language)


def bad(text: str, lines: Iterable[str] = (), language: str = "text") -> Finding:
    """Return a finding that is not as it should be."""
    return Finding(good=False, text=text, lines=cut(lines), language=language)


def judge(holds: bool, right: str, wrong: str, lines: Iterable[str] = (), language: str = "text") -> Finding:  # noqa: FBT001 - a condition
    """Return what was found, in one of two sentences; the lines are shown where it is not as it should be."""
    return good(right) if holds else bad(wrong, lines, language)


def cut(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the first lines, the middle of long ones left out, and how many more there are."""
    shown = [
        line if len(line) <= WIDTH else f"{line[: WIDTH // 2]} ... {line[-WIDTH // 2 :]}"
        for line in map(str.rstrip, lines)
    ]
    more = len(shown) - SHOWN
    return (*shown[:SHOWN], *([f"... and {more} more"] if more > 0 else []))


class WrongError(Exception):
    """What was written is wrong in a way that leaves nothing more to check.

    Args:
        finding: What is wrong.
    """

    def __init__(self, finding: Finding) -> None:
        """Keep the finding."""
        super().__init__(finding.text)
        self.finding = finding
