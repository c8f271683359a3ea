"""What a test compiled, what it compared, and what it asserted: so that a test which asserts nothing is told."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container

    from xla_inspect.budgets.measured_number import Quantity, Verdict


class BrokenError(AssertionError):
    """Something that was asserted of a compiled program and does not hold; its text says where it comes from."""


class AssertionLog:
    """What one test asserted.

    Attributes:
        compiled: The programs that it compiled, by name and line.
        verdicts: What it compared, each with the line.
    """

    def __init__(self) -> None:
        """Note nothing yet."""
        self.compiled: list[tuple[str, str]] = []
        self.verdicts: list[tuple[Verdict, str]] = []
        self._read: dict[int, tuple[Quantity, str]] = {}
        self._asserted = 0

    def note_compiled(self, name: str, where: str) -> None:
        """Note a program that was compiled."""
        self.compiled.append((name, where))

    def note_asserted(self) -> None:
        """Note that something was asserted which raises by itself."""
        self._asserted += 1

    def note_read(self, quantity: Quantity, where: str) -> None:
        """Note a number that was read, and that nothing was done with yet."""
        self._read[id(quantity)] = (quantity, where)

    def note_use(self, quantity: Quantity) -> None:
        """Note that something was done with a number."""
        self._read.pop(id(quantity), None)

    def note_verdict(self, verdict: Verdict, where: str) -> None:
        """Note a comparison."""
        self.verdicts.append((verdict, where))

    def find_broken(self, places: Container[str]) -> list[Verdict]:
        """Return the comparisons at some lines that were asked for and do not hold."""
        return [
            verdict for verdict, where in self.verdicts if where in places and verdict.is_taken and not verdict.holds
        ]

    def find_forgotten(self) -> str:
        """Return what a test that passed forgot to assert, or an empty string."""
        dropped = [
            f"{_shorten(where)}: {verdict!r} was compared and not asserted; write assert in front of it"
            for verdict, where in self.verdicts
            if not verdict.is_taken
        ]
        unused = [
            f"{_shorten(where)}: {quantity.name} of {quantity.of} was read and compared with nothing"
            for quantity, where in self._read.values()
        ]
        if dropped or unused:
            return "\n".join((*dropped, *unused))
        if self.compiled and not self._asserted and not any(verdict.is_taken for verdict, _ in self.verdicts):
            name, where = self.compiled[0]
            return f"{_shorten(where)}: {name} was compiled, and nothing was asserted of it"
        return ""


def _shorten(where: str) -> str:
    path = Path(where)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else where
