"""The traffic of some of a program's collectives, as numbers that a test can compare with bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from xla_inspect.budgets.bound import Unit
    from xla_inspect.budgets.measured_number import Quantity
    from xla_inspect.questions.collectives import Exchange


class CollectiveTraffic:
    """The traffic of some collectives of a program.

    Args:
        exchanges: The collectives.
        name: Their name, such as `all-reduce over data`.
        count: Returns a comparable number for a name, an amount and a unit.
    """

    def __init__(self, exchanges: Sequence[Exchange], name: str, count: Callable[[str, int, Unit], Quantity]) -> None:
        """Store the collectives; the properties count them."""
        self._exchanges, self._name, self._count = exchanges, name, count

    @property
    def bytes(self) -> Quantity:
        """The operand bytes of each device in one step, counting every iteration of a loop."""
        return self._count(f"bytes of {self._name}", sum(exchange.total_bytes for exchange in self._exchanges), "bytes")

    @property
    def sent(self) -> Quantity:
        """The least bytes that each device must send in one step with any algorithm."""
        return self._count(
            f"bytes sent by {self._name}", sum(exchange.total_sent for exchange in self._exchanges), "bytes"
        )

    @property
    def count(self) -> Quantity:
        """The number of runs in one step, counting every iteration of a loop, or one if the number is unknown."""
        return self._count(f"runs of {self._name}", sum(exchange.assumed_runs for exchange in self._exchanges), "")

    def __repr__(self) -> str:
        """Return the number of collectives and their bytes."""
        total = format_bytes(sum(exchange.total_bytes for exchange in self._exchanges))
        return f"<{self._name}: {len(self._exchanges)}, {total}>"
