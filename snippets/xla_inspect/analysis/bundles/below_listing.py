"""Descriptions of a capture's TPU kernels below HLO, without their text: bundles, units, cycles, loops and steps."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis import read_line, show_place
from xla_inspect.analysis.bundles.below_hlo import read_below
from xla_inspect.analysis.bundles.bundle_units import list_units
from xla_inspect.analysis.bundles.low_steps import find_step
from xla_inspect.analysis.bundles.usage import UNITS

if TYPE_CHECKING:
    from xla_inspect.analysis.bundles.below_hlo import BundledKernel
    from xla_inspect.captured import Capture


@dataclass(frozen=True)
class BundleLoop:
    """A loop of a kernel.

    Attributes:
        first: The address of its first bundle.
        bundles: The number of bundles from there to the branch back.
        trips: The trip count of its body, or None if it is unknown.
    """

    first: int
    bundles: int
    trips: int | None


@dataclass(frozen=True)
class BelowStep:
    """The low-level program after one step below HLO.

    Attributes:
        name: The compiler's name of the step.
        sentence: The description of the step, or an empty string for an unknown step.
        instructions: The number of low-level instructions after the step, or None if it is unknown.
        bundles: The number of bundles that contain them, or None if they are not packed into bundles.
        is_changed: Whether the step changed the program, or None if it is unknown.
    """

    name: str
    sentence: str
    instructions: int | None
    bundles: int | None
    is_changed: bool | None


@dataclass(frozen=True)
class BelowListing:
    """A TPU's kernel below HLO, or the program around the kernels.

    Attributes:
        name: The instruction that the kernel implements, or a title for code that is not a kernel.
        is_kernel: Whether it is a kernel rather than the code around the kernels.
        launches: The names of the HLO instructions that run it, which may share a kernel; empty for other code.
        where: The line of Python of its instruction, such as `model.py:12`, or an empty string if it is unknown.
        text: The text of that line.
        bundles: The number of bundles.
        empty: The number of empty bundles.
        cycles: The compiler's estimate of the cycles of one run, with each loop body counted once and without waits for
            memory; None if there is no estimate.
        chain_cycles: The estimated cycles of the longest chain of dependent operations; 0 without a chain.
        utilization: The used share of each unit's slots, from 0 to 1, in the compiler's order of units.
        operations: The number of operations that each unit executes, largest number first.
        loops: Its loops, in order.
        steps: The steps below HLO that produced it, in order.
    """

    name: str
    is_kernel: bool
    launches: tuple[str, ...]
    where: str
    text: str
    bundles: int
    empty: int
    cycles: int | None
    chain_cycles: int
    utilization: Mapping[str, float]
    operations: Mapping[str, int]
    loops: tuple[BundleLoop, ...]
    steps: tuple[BelowStep, ...]

    @property
    def busiest(self) -> str:
        """The title of the unit with the largest used share of its slots, or an empty string if no slot is used."""
        unit = max(self.utilization, key=lambda name: self.utilization[name], default="")
        return unit if unit and self.utilization[unit] else ""

    @property
    def weight(self) -> int:
        """The size by which kernels are compared: the cycles if they are known, otherwise the number of bundles."""
        return self.cycles or self.bundles


def describe_below(capture: Capture) -> tuple[BelowListing, ...]:
    """Return a description of each kernel below HLO in the order of the schedule, then of the code around the kernels.

    Args:
        capture: A capture for a TPU, made with `machine=True`; the result is empty for any other capture.
    """
    return tuple(_describe(capture, kernel) for kernel in read_below(capture))


def _describe(capture: Capture, kernel: BundledKernel) -> BelowListing:
    # Listings show titles of units; the keys are internal to the tables.
    titles = {key: unit.title for key, unit in list_units().items()}
    counts = sorted(kernel.units.items(), key=lambda count: -count[1])
    return BelowListing(
        name=kernel.name,
        is_kernel=kernel.is_kernel,
        launches=kernel.low.instructions if kernel.is_kernel else (),
        where=show_place(kernel.line) if kernel.line else "",
        text=read_line(capture, kernel.line) if kernel.line else "",
        bundles=kernel.size,
        empty=kernel.schedule.empty,
        cycles=kernel.cycles,
        chain_cycles=kernel.critical_path.cycles if kernel.critical_path else 0,
        # Spills are a part of the use of another unit, so listing them would count that use twice.
        utilization={
            UNITS[unit][0]: round(share, 4) for unit, share in kernel.utilization.shares.items() if unit in UNITS
        },
        operations={titles.get(key, key): number for key, number in counts},
        loops=tuple(BundleLoop(loop.first, loop.bundles, loop.trips) for loop in kernel.loops),
        steps=tuple(
            BelowStep(stage.name, step.sentence if step else "", stage.instructions, stage.bundles, stage.is_changed)
            for stage in kernel.stages
            for step in [find_step(stage.name)]
        ),
    )
