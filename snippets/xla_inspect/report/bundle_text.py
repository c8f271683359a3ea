"""Plain text of a TPU's kernels below HLO: a summary of each kernel, then its bundles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis.bundles import PARTS, UNITS, list_units, read_below
from xla_inspect.plural import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.analysis.bundles import BundledKernel
    from xla_inspect.captured import Capture

BAR = 30
"""The length in characters of a bar for a unit whose slots are all in use."""

ESTIMATE = (
    "Cycles are the compiler's own estimate for one pass through the kernel: it counts each loop body once and no "
    "waiting for memory."
)
"""The note below a table of cycles."""

_NAME = 44


def write_below(capture: Capture, kernel: str = "") -> str:
    """Return a TPU's code below HLO as text, or "" for none: a line for each of several kernels, then each in full.

    Args:
        capture: A capture for a TPU, made with `machine=True`.
        kernel: The name of the only kernel to show, or an empty string for all kernels.
    """
    kernels = [
        candidate
        for candidate in read_below(capture)
        if kernel in {"", candidate.low.kernel, *candidate.low.instructions}
    ]
    if not kernels:
        return ""
    blocks = ["\n".join((*map(_write_row, kernels), ESTIMATE))] if len(kernels) > 1 else []
    blocks += [f"{summarize_below(candidate)}\n{write_bundles(candidate)}" for candidate in kernels]
    return "\n\n".join(blocks)


def _write_row(kernel: BundledKernel) -> str:
    cycles = f"{kernel.cycles:>9,} cycles" if kernel.cycles is not None else " " * 16
    return f"{kernel.name:<{_NAME}} {kernel.size:>7,} bundles {cycles}  {_format_line(kernel)}".rstrip()


def _format_line(kernel: BundledKernel) -> str:
    return f"{kernel.line.file}:{kernel.line.number}" if kernel.line else ""


def summarize_below(kernel: BundledKernel) -> str:
    """Return a few lines about a kernel: bundles, cycles, loops, units, and the compiler steps that changed it."""
    return "\n".join((f"==== {kernel.name} (bundles)", *(f"  {line}" for line in _list_facts(kernel))))


def _list_facts(kernel: BundledKernel) -> Iterator[str]:
    origin = [
        kernel.instruction.opcode if kernel.instruction else "",
        f"`{kernel.op_name}`" if kernel.op_name else "",
        _format_line(kernel),
    ]
    if any(origin):
        yield f"made for: {', '.join(filter(None, origin))}"
    # The compiler shares the code of equal kernels, so one kernel may run for several instructions.
    if others := [name for name in kernel.low.instructions if name != kernel.low.kernel]:
        yield f"also runs as {', '.join(others)}"
    empty = f", {kernel.schedule.empty:,} of them empty" if kernel.schedule.empty else ""
    yield f"{plural(kernel.size, 'bundle')}{empty}"
    if kernel.cycles is not None:
        yield f"{plural(kernel.cycles, 'cycle')} for one pass through the kernel, by the compiler's estimate"
    if (path := kernel.critical_path) and path.cycles:
        names = dict.fromkeys(step.mnemonic.unit.title if step.mnemonic else step.operation for step in path.steps)
        length = f"{plural(path.cycles, 'cycle')}, {plural(len(path.steps), 'operation')}"
        yield f"longest chain: {length}: {', '.join(names)}"
    for loop in kernel.loops:
        trips = (
            f"runs {plural(loop.trips, 'time')}" if loop.trips is not None else "repeats while its condition is true"
        )
        yield f"loop of {plural(loop.bundles, 'bundle')}, {loop.first:#x} to {loop.last:#x}, {trips}"
    for unit, share in kernel.utilization.shares.items():
        if share:
            yield f"{_name_unit(unit):<30} {'#' * round(BAR * share):.<{BAR}} {share:>4.0%}"
    titles = {key: unit.title for key, unit in list_units().items()}
    operations = sorted(kernel.units.items(), key=lambda pair: -pair[1])
    yield f"operations: {', '.join(f'{number:,} {titles.get(key, key)}' for key, number in operations)}"
    if kernel.unknown:
        yield f"unknown operations: {', '.join(kernel.unknown)}"
    changes = [stage for stage in kernel.stages if stage.is_changed]
    sizes = [stage.instructions for stage in kernel.stages if stage.instructions is not None]
    if sizes:
        growth = f"{sizes[0]:,} instructions at the start, {sizes[-1]:,} at the end"
        steps = plural(len(kernel.stages), "compiler step")
        yield f"{steps} below HLO, {len(changes):,} of which changed the kernel: {growth}"


def _name_unit(unit: str) -> str:
    if unit in PARTS:
        whole, description = PARTS[unit]
        return f"  of {UNITS[whole][0]}: {'fills' if 'read' in description else 'spills'}"
    return UNITS[unit][0] if unit in UNITS else unit


def write_bundles(kernel: BundledKernel) -> str:
    """Return a kernel's bundles as the text that libtpu prints, or an empty string if there are none."""
    return kernel.low.bundles[kernel.bundles[0].start :].rstrip("\n") if kernel.bundles else ""
