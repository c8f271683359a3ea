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
    from collections.abc import Iterable, Mapping

    from xla_inspect.analysis.instruction_lines import SourceLine
    from xla_inspect.analysis.launches import Launch
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction, Module
    from xla_inspect.targets import Hardware, Roof

STATEMENT = (
    "This is a model, not a measurement: it divides counted operations and bytes by published peaks, and leaves out "
    "caches, the cost of a launch, transcendental functions and how well a kernel fills the machine."
)
"""The disclaimer shown with each roofline."""

MEMORY = "memory"
"""The `Bound.limit` of a launch whose memory traffic takes longer than its operations."""

NOTHING = "nothing that is counted"


@dataclass(frozen=True)
class Bound:
    """The lower bound on the time of a launch, and the resource that determines it.

    Attributes:
        seconds: The longest of the times that memory and each unit need at their peak rates.
        limit: The resource that determines the time: `memory`, the name of a unit, or `NOTHING` if the time is 0.
        roofs: The units with published peaks that the launch uses.
    """

    seconds: float
    limit: str
    roofs: tuple[Roof, ...]


@dataclass(frozen=True)
class Launched:
    """One launch with its work, its memory traffic, its lines of Python and a lower bound on its time.

    Attributes:
        launch: The launch, with its number of runs.
        work: The operations of one run.
        read: The bytes that one run reads from main memory, as `Traffic` counts them.
        written: The bytes that one run writes to main memory.
        on_chip: The bytes that one run reads from or writes to on-chip memory (VMEM and SMEM of a TPU).
        lines: The lines of Python that it comes from: its own first, then those of the fused instructions.
        bound: The lower bound on the time of one run, or None if no peak rates are published.
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
        """The bytes that one run reads from and writes to main memory."""
        return self.read + self.written

    @property
    def total_flops(self) -> int:
        """The known operations of all runs."""
        return self.work.flops * self.launch.assumed_runs

    @property
    def total_bytes(self) -> int:
        """The bytes that all runs read from and write to main memory."""
        return self.bytes * self.launch.assumed_runs

    @property
    def intensity(self) -> float | None:
        """The operations per byte of main memory, or None without operations or without bytes."""
        return self.work.flops / self.bytes if self.work.flops and self.bytes else None


def model_launches(capture: Capture) -> tuple[Launched, ...]:
    """Return the launches of a program in order, each with its work, its bytes and a lower bound on its time.

    Args:
        capture: The capture; launches on a CPU have no bounds.
    """
    module = capture.module
    count = Count(module)
    hardware = find_hardware(capture.target)
    lines = find_lines(capture, module)
    return tuple(_describe(launch, module, count, hardware, lines) for launch in list_launches(capture))


def list_unknown_work(launches: Iterable[Launched]) -> tuple[str, ...]:
    """Return the targets of the library calls among launches whose operations are not known."""
    return tuple(dict.fromkeys(target for launched in launches for target in launched.work.unknown))


def bound(work: Work, bytes_moved: int, hardware: Hardware) -> Bound:
    """Return the lower bound on the time of some work on some hardware, if all units and memory work in parallel.

    Operations of a type without a published peak do not count, and neither do transcendental functions.

    Args:
        work: The operations.
        bytes_moved: The bytes of main memory that every run reads and writes.
        hardware: The peak rates of one device.
    """
    times = {MEMORY: bytes_moved / hardware.bandwidth}
    roofs: dict[str, Roof] = {}
    names = [(hardware.find_product(kind), number) for kind, number in work.products.items()]
    names += [(hardware.find_other(kind), number) for kind, number in work.others.items()]
    for roof, number in names:
        if roof is not None:
            roofs[roof.name] = roof
            # Types that share a unit use it one after the other, so their times add up.
            times[roof.name] = times.get(roof.name, 0.0) + number / roof.rate
    # All resources work in parallel in this model, so the slowest one determines the time.
    limit = max(times, key=lambda name: times[name])
    return Bound(times[limit], limit if times[limit] else NOTHING, tuple(roofs.values()))


def _describe(
    launch: Launch, module: Module, count: Count, hardware: Hardware | None, lines: Mapping[Instruction, SourceLine]
) -> Launched:
    instruction = launch.instruction
    work, traffic = count.instruction(instruction), measure_traffic(module, instruction)
    bytes_read, bytes_written = traffic.read[MAIN], traffic.written[MAIN]
    return Launched(
        launch=launch,
        work=work,
        read=bytes_read,
        written=bytes_written,
        on_chip=traffic.total - traffic.main,
        lines=_find_lines(instruction, module, lines),
        bound=bound(work, traffic.least, hardware) if hardware else None,
    )


def _find_lines(
    instruction: Instruction, module: Module, lines: Mapping[Instruction, SourceLine]
) -> tuple[SourceLine, ...]:
    """Return the lines of Python of an instruction and of everything that it calls, without duplicates."""
    by_place: dict[tuple[str, int], SourceLine] = {}
    for part in walk_inside(module, instruction):
        if line := lines.get(part):
            by_place.setdefault((line.file, line.number), line)
    return tuple(by_place.values())
