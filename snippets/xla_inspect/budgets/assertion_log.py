"""A log of a test's compilations, comparisons and assertions, which reveals tests that assert nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.folders import shorten_path

if TYPE_CHECKING:
    from xla_inspect.budgets.measured_number import Quantity, Verdict


class BrokenError(AssertionError):
    """An assertion about a compiled program failed; the text explains the cause."""


class AssertionLog:
    """The log of one test's compilations, comparisons and assertions.

    Attributes:
        compiled: The programs that the test compiled, by name and line.
        asserted: Whether the test asserted anything.
        broken: The asserted comparisons that failed, each with its line.
    """

    def __init__(self) -> None:
        """Start with an empty log."""
        self.compiled: list[tuple[str, str]] = []
        self.asserted = False
        self.broken: list[tuple[Verdict, str]] = []
        # Numbers are stored by identity, because comparing two of them creates a verdict instead of answering the
        # question.
        self._open: dict[int, tuple[Quantity | Verdict, str]] = {}

    def note_made(self, number: Quantity | Verdict, where: str) -> None:
        """Record a number or a comparison that the test has not used yet, with its line as FILE:LINE."""
        self._open[id(number)] = (number, where)

    def note_use(self, number: object) -> None:
        """Record that a number was used."""
        self._open.pop(id(number), None)

    def note_asserted(self, verdict: Verdict) -> None:
        """Record that a comparison was asserted, and whether it failed."""
        # A failing comparison counts as asserted too, since a test that reports an error has not forgotten its
        # assertion.
        self.asserted = True
        _, where = self._open.pop(id(verdict), (verdict, ""))
        if where and not verdict.holds:
            self.broken.append((verdict, where))

    def find_forgotten(self) -> str:
        """Return a message about the numbers, comparisons or program that no assertion uses, or an empty string."""
        if self._open:
            return "\n".join(f"{shorten_path(where)}: {number.forgotten}" for number, where in self._open.values())
        if self.compiled and not self.asserted:
            name, where = self.compiled[0]
            return f"{shorten_path(where)}: {name} was compiled, but nothing was asserted about it"
        return ""
