"""A TPU's kernels below HLO, read from a capture: their HLO instructions, bundles, units and cycles."""

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
"""The title on pages of each piece of code that is not a kernel, by libtpu's name of that code."""

PACKED = "packed-bundles-post-ra"
"""The step after which each cycle has one bundle, which is empty if the core waits; a later step merges empty ones."""


@dataclass(frozen=True)
class BundledKernel:
    """A kernel below HLO, or the program around the kernels; its texts are parsed on first use.

    Attributes:
        low: The texts that libtpu dumped for it.
        instruction: The HLO instruction that it implements, or None if the module has no instruction of that name.
        line: The line of Python of that instruction, or None if it is unknown.
    """

    low: LowLevel
    instruction: Instruction | None = field(repr=False)
    line: SourceLine | None

    @property
    def name(self) -> str:
        """The name of the kernel's instruction, or a title for code that is not a kernel."""
        return AROUND.get(self.low.kernel, self.low.kernel)

    @property
    def is_kernel(self) -> bool:
        """True if it is a kernel rather than the code around the kernels."""
        return self.low.kernel != PROGRAM and not self.low.kernel.startswith("<")

    @cached_property
    def bundles(self) -> tuple[Bundle, ...]:
        """The bundles of the kernel, in order."""
        return parse_bundles(self.low.bundles)

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """The loops of the kernel, in order."""
        return find_loops(self.low.bundles, self.bundles)

    @cached_property
    def units(self) -> Mapping[str, int]:
        """The number of operations by the unit's key (see `list_units`), without operations that use no slot."""
        return count_units(self.bundles)

    @cached_property
    def unknown(self) -> Mapping[str, int]:
        """The operations that the table of units does not contain, each with its number of occurrences."""
        return list_unknown(self.bundles)

    @cached_property
    def utilization(self) -> Utilization:
        """The number of slots of each unit that each bundle uses, from libtpu's report."""
        return parse_utilization(self.low.utilization)

    @cached_property
    def schedule(self) -> Schedule:
        """The summary by libtpu: the numbers of all and of empty bundles, and the HLO instructions in them."""
        return parse_schedule(self.low.schedule)

    @property
    def size(self) -> int:
        """The number of bundles in libtpu's summary, or of the parsed bundles without a summary."""
        # Without libtpu's summary the total is 0, so the bundles themselves are counted.
        return self.schedule.bundles or len(self.bundles)

    @cached_property
    def chains(self) -> tuple[Chain, ...]:
        """The longest chain of dependent operations in each block."""
        return parse_chains(self.low.critical_path)

    @property
    def critical_path(self) -> Chain | None:
        """The longest chain of all blocks, or None if there are no chains."""
        return max(self.chains, key=lambda chain: chain.cycles, default=None)

    @property
    def cycles(self) -> int | None:
        """The estimated cycles of one run, with each loop body counted once; None if the text has no estimate.

        libtpu's estimate includes neither waits for memory nor the trip counts of loops.
        """
        return next((stage.bundles for stage in self.stages if stage.name == PACKED), None)

    @property
    def op_name(self) -> str:
        """The `op_name` of the kernel's instruction, or an empty string."""
        return self.schedule.op_names.get(self.low.kernel, "")

    @property
    def stages(self) -> tuple[LowStage, ...]:
        """The compiler steps that produced the code, in order."""
        return self.low.stages


def read_below(capture: Capture) -> tuple[BundledKernel, ...]:
    """Return the kernels of a TPU's capture below HLO in schedule order, then the code around the kernels.

    Args:
        capture: A capture for a TPU, made with `machine=True`; the result is empty for any other capture.
    """
    if not capture.low_level:
        return ()
    instructions = {instruction.name: instruction for instruction in capture.module.walk()}
    lines = find_lines(capture, capture.module)
    # The names of code around the kernels follow the instructions, so that such code comes last.
    order = {name: position for position, name in enumerate((*instructions, *AROUND))}
    kernels = [
        BundledKernel(low, operation, lines.get(operation) if operation else None)
        for low in capture.low_level
        for operation in [instructions.get(low.kernel)]
    ]
    last = len(order)
    return tuple(sorted(kernels, key=lambda kernel: (not kernel.is_kernel, order.get(kernel.low.kernel, last))))
