"""The work and the least time of each launch: a roofline model from counted work and published figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis.flops import Count, Work
from xla_inspect.analysis.instruction_lines import find_lines
from xla_inspect.analysis.launches import list_launches
from xla_inspect.analysis.traffic import MAIN, measure_traffic
from xla_inspect.analysis.value_flow import walk_inside
from xla_inspect.targets import find_hardware

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.analysis.instruction_lines import SourceLine
    from xla_inspect.analysis.launches import Launch
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction, Module
    from xla_inspect.targets import Hardware, Roof

STATEMENT = (
    "This is a model, not a measurement: it divides counted operations and bytes by published peaks, and leaves out "
    "caches, the cost of a launch, transcendental functions and how well a kernel fills the machine."
)
"""What stands beside each roofline."""

MEMORY = "memory"
"""What limits a launch that moves more than it computes."""

NOTHING = "nothing that is counted"


@dataclass(frozen=True)
class Bound:
    """The least time of a launch, and the resource that needs it.

    Attributes:
        seconds: The longest of the times that memory and each unit need at their peaks.
        limit: The resource that needs this time: `memory`, or the name of a unit.
        roofs: The units it uses, those with published peaks.
    """

    seconds: float
    limit: str
    roofs: tuple[Roof, ...]


@dataclass(frozen=True)
class Launched:
    """One launch with its work.

    Attributes:
        launch: The launch, with its number of runs.
        work: Operations of one run.
        read: Bytes that one run asks of main memory, as `Traffic` counts them.
        written: Bytes that one run writes to it.
        on_chip: Bytes read from and written to memory on the chip (VMEM and SMEM of a TPU).
        lines: The lines of Python it comes from, its own first, then those of what is fused in it.
        bound: The least time of one run, or None where no figures are published.
    """

    launch: Launch
    work: Work
    read: int
    written: int
    on_chip: int
    lines: tuple[SourceLine, ...]
    bound: Bound | None

    @property
    def bytes(self) -> int:
        """Bytes of main memory read and written."""
        return self.read + self.written

    @property
    def intensity(self) -> float | None:
        """Operations for each byte of main memory, or None where it has none of one or the other."""
        return self.work.flops / self.bytes if self.work.flops and self.bytes else None


def model_launches(capture: Capture) -> tuple[Launched, ...]:
    """Return the launches of a program in order, each with its work, its bytes and the least time of a run.

    Args:
        capture: The capture; a CPU's has no least times.
    """
    module = capture.module
    count = Count(module)
    hardware = find_hardware(capture.target)
    lines = find_lines(capture, module)
    return tuple(_describe(launch, module, count, hardware, lines) for launch in list_launches(capture))


def bound(work: Work, bytes_moved: int, hardware: Hardware) -> Bound:
    """Return the least time of some work on some hardware, if all its parts run at once.

    Operations of a type without a published peak are left out, and so are transcendental functions.

    Args:
        work: Operations.
        bytes_moved: Bytes of main memory that every run reads and writes.
        hardware: Peaks of one device.
    """
    times = {MEMORY: bytes_moved / hardware.bandwidth}
    roofs: dict[str, Roof] = {}
    names = [(hardware.find_product(kind), number) for kind, number in work.products.items()]
    names += [(hardware.find_other(kind), number) for kind, number in work.others.items()]
    for roof, number in names:
        if roof is not None:
            roofs[roof.name] = roof
            times[roof.name] = times.get(roof.name, 0.0) + number / roof.rate
    limit = max(times, key=lambda name: times[name])
    return Bound(times[limit], limit if times[limit] else NOTHING, tuple(roofs.values()))


def _describe(
    launch: Launch, module: Module, count: Count, hardware: Hardware | None, lines: Mapping[Instruction, SourceLine]
) -> Launched:
    instruction = launch.instruction
    work, moved = count.instruction(instruction), measure_traffic(module, instruction)
    read, written = moved.read[MAIN], moved.written[MAIN]
    return Launched(
        launch=launch,
        work=work,
        read=read,
        written=written,
        on_chip=moved.total - moved.main,
        lines=_find_lines(instruction, module, lines),
        bound=bound(work, moved.least, hardware) if hardware else None,
    )


def _find_lines(
    instruction: Instruction, module: Module, lines: Mapping[Instruction, SourceLine]
) -> tuple[SourceLine, ...]:
    """Return the lines of an instruction and of all that it calls, each place once."""
    by_place: dict[tuple[str, int], SourceLine] = {}
    for part in walk_inside(module, instruction):
        if line := lines.get(part):
            by_place.setdefault((line.file, line.number), line)
    return tuple(by_place.values())
