"""One collective of a program: its data, its place in the source, and the reason for it."""

from __future__ import annotations

from dataclasses import dataclass

from xla_inspect.analysis.estimates import Estimate  # noqa: TC001 - the schema is read off the annotations
from xla_inspect.units import shorten

_LONGEST_PLACE = 24


@dataclass(frozen=True)
class Place:
    """A line of Python.

    Attributes:
        file: The file, as in the program's locations.
        line: The line number, counted from one.
        text: The source text of the line, or an empty string if the file is not available.
    """

    file: str
    line: int
    text: str


@dataclass(frozen=True)
class Meanwhile:
    """The work that the compiler scheduled between the start and the end of one run of a collective.

    Attributes:
        kernels: Launches that compute more than an index or a loop counter.
        flops: The operations of these launches.
        unknown_work: The targets of library calls among them whose operations are not known.
        moved_bytes: Bytes of main memory that they read and write.
        least_seconds: Their least time according to published peak rates; None without such rates or without kernels.
        seconds: Their estimated time, or None without an estimate.
    """

    kernels: int
    flops: float
    unknown_work: tuple[str, ...]
    moved_bytes: int
    least_seconds: float | None
    seconds: float | None = None


@dataclass(frozen=True)
class Exchange:
    """One collective of the optimized program.

    Attributes:
        name: The name of its instruction.
        kind: `all-gather`, `all-reduce`, `reduce-scatter`, `all-reduce-scatter` (a TPU's fusion of the two),
            `all-to-all`, `collective-permute`, ...
        shapes: The shapes of the operands on each device.
        operand_bytes: Bytes of operands on each device, in one run.
        sent_bytes: The least bytes that each device has to send, in one run.
        group: The number of devices that exchange data with each other.
        axes: The mesh axes along which the groups run; empty if the groups follow no axes or the names are unknown.
        is_all: Whether one group contains all devices.
        devices: The numbers of the devices of the first group; empty if the form of the groups is unknown.
        groups: The numbers of the devices of all groups; empty if the form of the groups is unknown.
        pairs: For a permutation, pairs of a sending and a receiving device.
        runs: The number of runs in a step, or None if it is unknown.
        assumed_runs: The number of runs for totals, where each loop or branch with an unknown number runs once.
        loops: The loops and branches around it, the innermost first.
        places: The source lines, the most important one first. A collective that combines several has several lines.
        scope: The named scopes around the operation, with `backward` for operations of JAX's transposition.
        inferred: The source of the lines if the instruction has none: the operations that compute its operands or
            those that use its result.
        is_asked: Whether the program requests it; False if the partitioner added it, None if unknown.
        arguments: The program's arguments that are gathered or whose gradients are summed, with `or` between those
            that shapes cannot tell apart.
        reason: The JAX primitive that requests it, or the partitioner's reason as inferred from the module.
        is_async: Whether other work may run between its start and its end.
        meanwhile: The work between its start and its end, or None if the collective is not asynchronous.
        time: The estimated seconds that a step waits for all runs; None for a CPU, and if no rate of the links is
            published.
        hidden_seconds: The estimated seconds of all runs that other work overlaps.
        is_rematerialized: Whether it replicates a value on each device only to shard it again.
    """

    name: str
    kind: str
    shapes: tuple[str, ...]
    operand_bytes: int
    sent_bytes: int
    group: int
    axes: tuple[str, ...]
    is_all: bool
    devices: tuple[int, ...]
    runs: int | None
    assumed_runs: int
    loops: tuple[str, ...]
    places: tuple[Place, ...]
    scope: str
    inferred: str
    is_asked: bool | None
    arguments: tuple[str, ...]
    reason: str
    is_async: bool
    meanwhile: Meanwhile | None
    is_rematerialized: bool
    groups: tuple[tuple[int, ...], ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()
    time: Estimate | None = None
    hidden_seconds: float = 0.0

    @property
    def total_bytes(self) -> int:
        """Bytes of operands on each device in a step."""
        return self.operand_bytes * self.assumed_runs

    @property
    def total_sent(self) -> int:
        """The least bytes that each device sends in a step."""
        return self.sent_bytes * self.assumed_runs

    @property
    def is_overlapped(self) -> bool:
        """True if kernels run between its start and its end."""
        return self.meanwhile is not None and self.meanwhile.kernels > 0

    @property
    def where(self) -> str:
        """Its first line, as in `model.py:12`, with the number of further lines, as in ` +2`; `?` without a line."""
        if not self.places:
            return "?"
        more = f" +{len(self.places) - 1}" if len(self.places) > 1 else ""
        first = self.places[0]
        # Only the file name is shortened, since the line number must stay readable.
        file = first.file.rpartition("/")[2]
        number = f":{first.line}{more}"
        return shorten(file, _LONGEST_PLACE - len(number)) + number
