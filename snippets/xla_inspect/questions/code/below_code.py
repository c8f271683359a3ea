"""The rows of an answer about a TPU's kernels below HLO, and the steps that made each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.answers import Table
from xla_inspect.plural import plural
from xla_inspect.units import format_share, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.analysis.bundles import BelowListing
    from xla_inspect.answers import Part

_COLUMNS = ("kernel", "line", "bundles", "cycles", "loops", "busiest")
_STEPS = ("step below HLO", "instructions", "bundles", "what it does")
_ESTIMATE = (
    "cycles: the compiler's own estimate of one way through, each loop's body once, without any wait for memory."
)
_NAME, _WHERE = 30, 16


def say_below(below: Sequence[BelowListing]) -> str:
    """Return in a sentence how many kernels there are, and which takes longest."""
    kernels = [kernel for kernel in below if kernel.is_kernel]
    if not kernels:
        return "no kernel has code of its own."
    most = max(kernels, key=lambda kernel: kernel.weight)
    where = f" ({most.where})" if most.where else ""
    takes = plural(most.bundles, "bundle") if most.cycles is None else plural(most.cycles, "cycle")
    busy = f", its busiest unit {most.busiest}" if most.busiest else ""
    total = plural(sum(kernel.bundles for kernel in kernels), "bundle")
    counted = plural(len(kernels), "kernel")
    return f"{counted} of {total}; {most.name}{where} takes {takes} once through, as the compiler reckons{busy}."


def tell_below(below: Sequence[BelowListing], shown: int, *, is_full: bool) -> Iterator[Part]:
    """Yield a row for each kernel and, where all is told, the steps that changed each.

    Args:
        below: The kernels, then what is around them.
        shown: How many have a row, where not all is told.
        is_full: Whether all is told.
    """
    kept = below if is_full else below[:shown]
    yield drop_empty(Table(_COLUMNS, tuple(map(_list_kernel, kept)), (2, 3, 4)))
    if left := len(below) - len(kept):
        yield f"Left out: {plural(left, 'kernel')}; --full and --json have all."
    yield _ESTIMATE
    for kernel in kept if is_full else ():
        steps = tuple(
            (step.name, _show(step.instructions), _show(step.bundles), step.sentence)
            for step in kernel.steps
            if step.is_changed is not False
        )
        yield Table(_STEPS, steps, (1, 2), f"{kernel.name}: the steps that changed it")


def _list_kernel(kernel: BelowListing) -> tuple[str, ...]:
    return (
        shorten(kernel.name, _NAME),
        shorten_place(kernel.where),
        f"{kernel.bundles:,}",
        _show(kernel.cycles),
        f"{len(kernel.loops)}" if kernel.loops else "-",
        f"{kernel.busiest} {format_share(kernel.utilization[kernel.busiest])}" if kernel.busiest else "-",
    )


def _show(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def shorten_place(where: str) -> str:
    """Return a place in few characters, with its number."""
    file, _, number = where.rpartition(":")
    return f"{shorten(file, _WHERE - len(number) - 1)}:{number}" if file else where


def drop_empty(table: Table) -> Table:
    """Return a table without the columns of numbers in which no row has one."""
    empty = {at for at in table.numbers if {row[at] for row in table.rows} == {"-"}}
    kept = [at for at in range(len(table.columns)) if at not in empty]
    numbers = tuple(number for number, at in enumerate(kept) if at in table.numbers)
    rows = tuple(tuple(row[at] for at in kept) for row in table.rows)
    return Table(tuple(table.columns[at] for at in kept), rows, numbers, table.title)
