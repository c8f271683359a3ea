"""The printed tables about a TPU's kernels below HLO, and about the compiler steps that produced each kernel."""

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
    "cycles: the compiler's own estimate for one pass through the code. It counts each loop body once and ignores "
    "waits for memory."
)
_NAME, _WHERE = 30, 16


def say_below(below: Sequence[BelowListing]) -> str:
    """Return a text about a TPU's kernels: their number, their bundles, and the longest with its estimated cycles."""
    kernels = [kernel for kernel in below if kernel.is_kernel]
    if not kernels:
        return "no kernel has its own code."
    # The code around the kernels is not a kernel, although it may be longer than all of them.
    most = max(kernels, key=lambda kernel: kernel.weight)
    where = f" ({most.where})" if most.where else ""
    takes = plural(most.bundles, "bundle") if most.cycles is None else plural(most.cycles, "cycle")
    busy = f"; its busiest unit is {most.busiest}" if most.busiest else ""
    total = plural(sum(kernel.bundles for kernel in kernels), "bundle")
    return (
        f"{plural(len(kernels), 'kernel')} with {total}. The longest is {most.name}{where}: the compiler estimates "
        f"{takes} for one pass through its code{busy}."
    )


def tell_below(below: Sequence[BelowListing], row_count: int, *, is_full: bool) -> Iterator[Part]:
    """Yield a table of the kernels, notes about it and, for a full answer, the steps that changed each kernel.

    Args:
        below: The kernels, then the code around them.
        row_count: The number of kernels to show, unless the answer is full.
        is_full: Whether to include every kernel and its steps.
    """
    kernels = below if is_full else below[:row_count]
    yield drop_empty(Table(_COLUMNS, tuple(map(_list_kernel, kernels)), (2, 3, 4)))
    if omitted := len(below) - len(kernels):
        yield f"{plural(omitted, 'kernel')} not shown; --full and --json show all of them."
    yield _ESTIMATE
    for kernel in kernels if is_full else ():
        steps = tuple(
            (step.name, _show(step.instructions), _show(step.bundles), step.sentence)
            for step in kernel.steps
            # A step without a recorded effect may have changed the kernel, so it is listed too.
            if step.is_changed is not False
        )
        yield Table(_STEPS, steps, (1, 2), f"Steps that changed {kernel.name}")


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
    """Return a place `file:line` as text, its file name shortened to fit a column. The line number is never cut."""
    file, _, number = where.rpartition(":")
    return f"{shorten(file, _WHERE - len(number) - 1)}:{number}" if file else where


def drop_empty(table: Table) -> Table:
    """Return a table without the number columns in which every cell is a dash."""
    empty = {at for at in table.numbers if {row[at] for row in table.rows} == {"-"}}
    columns = [at for at in range(len(table.columns)) if at not in empty]
    # The remaining columns have new positions, so the list of right-aligned ones has to follow.
    numbers = tuple(position for position, at in enumerate(columns) if at in table.numbers)
    rows = tuple(tuple(row[at] for at in columns) for row in table.rows)
    return Table(tuple(table.columns[at] for at in columns), rows, numbers, table.title)
