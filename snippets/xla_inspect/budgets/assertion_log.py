"""What a test compiled, what it compared, and what it asserted: so that a test which asserts nothing is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.folders import shorten_path

if TYPE_CHECKING:
    from xla_inspect.budgets.measured_number import Quantity, Verdict


class BrokenError(AssertionError):
    """Something that was asserted of a compiled program and does not hold; its text says where it comes from."""


class AssertionLog:
    """What one test asserted.

    Attributes:
        compiled: The programs that it compiled, by name and line.
        asserted: Whether anything was asserted.
        broken: The comparisons that were asserted and do not hold, each with its line.
    """

    def __init__(self) -> None:
        """Note nothing yet."""
        self.compiled: list[tuple[str, str]] = []
        self.asserted = False
        self.broken: list[tuple[Verdict, str]] = []
        self._open: dict[int, tuple[Quantity | Verdict, str]] = {}

    def note_made(self, made: Quantity | Verdict, where: str) -> None:
        """Note a number that was read or a comparison, with which nothing is done yet."""
        self._open[id(made)] = (made, where)

    def note_use(self, made: object) -> None:
        """Note that something was done with a number."""
        self._open.pop(id(made), None)

    def note_asserted(self, verdict: Verdict) -> None:
        """Note that a comparison was asserted."""
        self.asserted = True
        _, where = self._open.pop(id(verdict), (verdict, ""))
        if where and not verdict.holds:
            self.broken.append((verdict, where))

    def find_forgotten(self) -> str:
        """Return what a test that passed forgot to assert, or an empty string."""
        if self._open:
            return "\n".join(f"{shorten_path(where)}: {made.forgotten}" for made, where in self._open.values())
        if self.compiled and not self.asserted:
            name, where = self.compiled[0]
            return f"{shorten_path(where)}: {name} was compiled, and nothing was asserted of it"
        return ""
