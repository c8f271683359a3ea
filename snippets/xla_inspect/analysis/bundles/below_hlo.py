"""A TPU's kernels below HLO: what each is made for, and how many bundles, which units and how many cycles it takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from xla_inspect.analysis import find_lines
from xla_inspect.analysis.bundles.bundle import count_units, find_loops, list_unknown, parse_bundles
from xla_inspect.analysis.bundles.usage import parse_chains, parse_schedule, parse_utilization
from xla_inspect.captured import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.analysis import SourceLine
    from xla_inspect.analysis.bundles.bundle import Bundle, Loop
    from xla_inspect.analysis.bundles.usage import Chain, Schedule, Utilization
    from xla_inspect.captured import Capture, LowLevel, LowStage
    from xla_inspect.hlo import Instruction

AROUND: Mapping[str, str] = {
    PROGRAM: "the program around the kernels",
    "<late-initialization>": "late initialization",
    "<late-finalization>": "late finalization",
}
"""What a page calls that which is no kernel, by libtpu's names."""

PACKED = "packed-bundles-post-ra"
"""The step after which there is a bundle for each cycle, empty where the core waits; a later one joins those."""


@dataclass(frozen=True)
class BundledKernel:
    """A kernel below HLO, or the program around the kernels; what is read from its texts is read when it is asked for.

    Attributes:
        low: What libtpu left of it.
        instruction: The instruction that it was made for, or None where the module has none of that name.
        line: The line of Python of that instruction, or None where it has none.
    """

    low: LowLevel
    instruction: Instruction | None = field(repr=False)
    line: SourceLine | None

    @property
    def name(self) -> str:
        """What it is called: the name of its instruction, or in words what it is that is no kernel."""
        return AROUND.get(self.low.kernel, self.low.kernel)

    @property
    def is_kernel(self) -> bool:
        """Whether it is a kernel, and not what is around them."""
        return self.low.kernel != PROGRAM and not self.low.kernel.startswith("<")

    @cached_property
    def bundles(self) -> tuple[Bundle, ...]:
        """Its bundles, in order."""
        return parse_bundles(self.low.bundles)

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """Its loops, in order."""
        return find_loops(self.low.bundles, self.bundles)

    @cached_property
    def units(self) -> Mapping[str, int]:
        """How many operations it has by the unit's key (see `list_units`)."""
        return count_units(self.bundles)

    @cached_property
    def unknown(self) -> Mapping[str, int]:
        """The operations that nobody knows, with how often each occurs."""
        return list_unknown(self.bundles)

    @cached_property
    def utilization(self) -> Utilization:
        """How many slots of each unit each bundle takes."""
        return parse_utilization(self.low.utilization)

    @cached_property
    def schedule(self) -> Schedule:
        """How many bundles libtpu counts, and what they are of."""
        return parse_schedule(self.low.schedule)

    @property
    def size(self) -> int:
        """How many bundles it has, as libtpu counts them."""
        return self.schedule.bundles or len(self.bundles)

    @cached_property
    def chains(self) -> tuple[Chain, ...]:
        """The longest chain of each of its blocks."""
        return parse_chains(self.low.critical_path)

    @property
    def critical_path(self) -> Chain | None:
        """The longest of all these chains, or None where there is none."""
        return max(self.chains, key=lambda chain: chain.cycles, default=None)

    @property
    def cycles(self) -> int | None:
        """How many cycles it takes once through, each loop's body once, as libtpu reckons; None where that is not said.

        It is an estimate: it knows of no wait for memory and not how often a loop runs.
        """
        return next((stage.bundles for stage in self.stages if stage.name == PACKED), None)

    @property
    def op_name(self) -> str:
        """The `op_name` of its instruction, or an empty string."""
        return self.schedule.op_names.get(self.low.kernel, "")

    @property
    def stages(self) -> tuple[LowStage, ...]:
        """The steps that made it, in order."""
        return self.low.stages


def read_below(capture: Capture) -> tuple[BundledKernel, ...]:
    """Return the kernels of a capture below HLO in the order of its schedule, then what is around them.

    Args:
        capture: One for a TPU, made with `machine=True`; any other has none.
    """
    if not capture.low_level:
        return ()
    instructions = {instruction.name: instruction for instruction in capture.module.walk()}
    lines = find_lines(capture, capture.module)
    order = {name: position for position, name in enumerate((*instructions, *AROUND))}
    kernels = [
        BundledKernel(low, found, lines.get(found) if found else None)
        for low in capture.low_level
        for found in [instructions.get(low.kernel)]
    ]
    last = len(order)
    return tuple(sorted(kernels, key=lambda each: (not each.is_kernel, order.get(each.low.kernel, last))))
