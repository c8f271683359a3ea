"""The description of one TPU kernel below HLO without its text: bundles, units, cycles, loops and steps."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - the schema is read off the annotations
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
        bundles: The number of bundles.
        trips: The trip count of its body, or None if it is unknown.
    """

    first: int
    bundles: int
    trips: int | None


@dataclass(frozen=True)
class BelowStep:
    """The low-level program after one step below HLO.

    Attributes:
        name: The step, in the compiler's words.
        sentence: The description of the step, or an empty string for an unknown step.
        instructions: How many low-level instructions there are after it, or None where that is not said.
        bundles: How many bundles they are packed into, or None where they are not packed.
        is_changed: Whether it changed the program, or None where that is not said.
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
        name: The instruction that it was made for, or in words what is no kernel.
        is_kernel: Whether it is a kernel, and not what is around them.
        launches: The instructions that run it, by their names; several may share one.
        where: The line of Python of its instruction, as in `model.py:12`, or an empty string where nobody knows.
        text: The text of the line.
        bundles: The number of bundles.
        empty: The number of empty bundles.
        cycles: How many cycles it takes once through, each loop's body once, as the compiler reckons: it knows of no
            wait for memory; None where that is not said.
        chain_cycles: Cycles of the longest chain of operations that wait for each other, likewise; 0 of none.
        utilization: Unit to the share of its slots that is taken, from 0 to 1, in the compiler's order.
        operations: Unit to how many operations it gets, the most first.
        loops: Its loops, in order.
        steps: The steps below HLO that made it, in order.
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
        """The unit whose slots are taken most, or an empty string where nothing is."""
        unit = max(self.utilization, key=lambda name: self.utilization[name], default="")
        return unit if unit and self.utilization[unit] else ""

    @property
    def weight(self) -> int:
        """The size for comparison with other kernels: its cycles if known, otherwise its bundles."""
        return self.cycles or self.bundles


def describe_below(capture: Capture) -> tuple[BelowListing, ...]:
    """Describe each kernel below HLO in the order of the schedule, then the code around the kernels.

    Args:
        capture: One for a TPU, made with `machine=True`; any other has none.
    """
    return tuple(_describe(capture, kernel) for kernel in read_below(capture))


def _describe(capture: Capture, kernel: BundledKernel) -> BelowListing:
    titles = {key: unit.title for key, unit in list_units().items()}
    counts = sorted(kernel.units.items(), key=lambda item: -item[1])
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
