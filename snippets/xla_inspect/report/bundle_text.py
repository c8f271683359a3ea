"""A TPU's kernels below HLO as plain text: first what each takes, then its bundles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis.bundles import PARTS, UNITS, list_units, read_below
from xla_inspect.plural import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.analysis.bundles import BundledKernel
    from xla_inspect.captured import Capture

BAR = 30
"""Characters of a bar that stands for all slots of a unit."""

ESTIMATE = (
    "Cycles are the compiler's own estimate for one way through, each loop's body once: it knows of no wait for memory."
)
"""What stands beside each number of cycles."""

_NAME = 44


def write_below(capture: Capture, kernel: str = "") -> str:
    """Return what a TPU runs below HLO: a line for each kernel, then each with its units and its bundles.

    Args:
        capture: One for a TPU, made with `machine=True`.
        kernel: The name of the only kernel that is wanted.
    """
    found = [each for each in read_below(capture) if kernel in {"", each.low.kernel, *each.low.instructions}]
    if not found:
        return ""
    blocks = ["\n".join((*map(_write_row, found), ESTIMATE))] if len(found) > 1 else []
    blocks += [f"{summarize_below(each)}\n{write_bundles(each)}" for each in found]
    return "\n\n".join(blocks)


def _write_row(kernel: BundledKernel) -> str:
    cycles = f"{kernel.cycles:>9,} cycles" if kernel.cycles is not None else " " * 16
    return f"{kernel.name:<{_NAME}} {kernel.size:>7,} bundles {cycles}  {_say_line(kernel)}".rstrip()


def _say_line(kernel: BundledKernel) -> str:
    return f"{kernel.line.file}:{kernel.line.number}" if kernel.line else ""


def summarize_below(kernel: BundledKernel) -> str:
    """Return what a kernel takes, in a few lines: bundles, cycles, loops, units, and the steps that made it."""
    return "\n".join((f"==== {kernel.name} (bundles)", *(f"  {line}" for line in _tell(kernel))))


def _tell(kernel: BundledKernel) -> Iterator[str]:
    origin = [
        kernel.instruction.opcode if kernel.instruction else "",
        f"`{kernel.op_name}`" if kernel.op_name else "",
        _say_line(kernel),
    ]
    if any(origin):
        yield f"made for: {', '.join(filter(None, origin))}"
    if others := [name for name in kernel.low.instructions if name != kernel.low.kernel]:
        yield f"runs also as {', '.join(others)}"
    empty = f", {kernel.schedule.empty:,} of them empty" if kernel.schedule.empty else ""
    yield f"{plural(kernel.size, 'bundle')}{empty}"
    if kernel.cycles is not None:
        yield f"{plural(kernel.cycles, 'cycle')} once through, as the compiler reckons"
    if (path := kernel.critical_path) and path.cycles:
        names = dict.fromkeys(step.mnemonic.unit.title if step.mnemonic else step.operation for step in path.steps)
        length = f"{plural(path.cycles, 'cycle')}, {plural(len(path.steps), 'operation')}"
        yield f"longest chain: {length}: {', '.join(names)}"
    for loop in kernel.loops:
        trips = (
            f"runs {plural(loop.trips, 'time')}" if loop.trips is not None else "runs as often as its condition holds"
        )
        yield f"loop of {plural(loop.bundles, 'bundle')}, {loop.first:#x} to {loop.last:#x}, {trips}"
    for unit, share in kernel.utilization.shares.items():
        if share:
            yield f"{_name_unit(unit):<30} {'#' * round(BAR * share):.<{BAR}} {share:>4.0%}"
    titles = {key: unit.title for key, unit in list_units().items()}
    counted = sorted(kernel.units.items(), key=lambda item: -item[1])
    yield f"operations: {', '.join(f'{number:,} {titles.get(key, key)}' for key, number in counted)}"
    if kernel.unknown:
        yield f"not known: {', '.join(kernel.unknown)}"
    changed = [stage for stage in kernel.stages if stage.is_changed]
    sizes = [stage.instructions for stage in kernel.stages if stage.instructions is not None]
    if sizes:
        what = f"{sizes[0]:,} instructions at first, {sizes[-1]:,} at last"
        yield f"{plural(len(kernel.stages), 'step')} below HLO, {len(changed):,} of which changed it: {what}"


def _name_unit(unit: str) -> str:
    if unit in PARTS:
        of, what = PARTS[unit]
        return f"  of {UNITS[of][0]}: {'fills' if 'read' in what else 'spills'}"
    return UNITS[unit][0] if unit in UNITS else unit


def write_bundles(kernel: BundledKernel) -> str:
    """Return a kernel's bundles, as libtpu prints them."""
    return kernel.low.bundles[kernel.bundles[0].start :].rstrip("\n") if kernel.bundles else ""
