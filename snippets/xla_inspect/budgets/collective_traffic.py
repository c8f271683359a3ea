"""Collectives that were chosen by kind and axis, counted: their bytes are the same, whatever form the compiler gave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from xla_inspect.budgets.bound import Unit
    from xla_inspect.budgets.measured_number import Quantity
    from xla_inspect.questions.collectives import Exchange


class CollectiveTraffic:
    """What some collectives of a program carry.

    Args:
        exchanges: The collectives.
        name: What they are called, such as `all-reduce over data`.
        count: What makes a number of them that compares: given its name, how much, and the unit.
    """

    def __init__(self, exchanges: Sequence[Exchange], name: str, count: Callable[[str, int, Unit], Quantity]) -> None:
        """Count nothing yet."""
        self._exchanges, self._name, self._count = exchanges, name, count

    @property
    def bytes(self) -> Quantity:
        """The bytes that each device brings to them in a step, the trips of loops counted."""
        return self._count(f"bytes of {self._name}", sum(each.total_bytes for each in self._exchanges), "bytes")

    @property
    def sent(self) -> Quantity:
        """The least bytes that each device sends for them in a step, whatever the algorithm."""
        return self._count(f"bytes sent by {self._name}", sum(each.total_sent for each in self._exchanges), "bytes")

    @property
    def count(self) -> Quantity:
        """How often they run in a step."""
        return self._count(f"runs of {self._name}", sum(each.runs or 1 for each in self._exchanges), "")

    def __repr__(self) -> str:
        """Return how many there are, and their bytes."""
        total = format_bytes(sum(each.total_bytes for each in self._exchanges))
        return f"<{self._name}: {len(self._exchanges)}, {total}>"
