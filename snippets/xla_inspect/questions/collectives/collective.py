"""One collective of a program: what it carries, where it stands, and what it is for."""

from __future__ import annotations

from dataclasses import dataclass

from xla_inspect.units import shorten

_LONGEST_PLACE = 24


@dataclass(frozen=True)
class Place:
    """A line of Python.

    Attributes:
        file: The file as the program's locations name it.
        line: The line, counted from one.
        text: What stands there, or an empty string where the file is not at hand.
    """

    file: str
    line: int
    text: str


@dataclass(frozen=True)
class Meanwhile:
    """The work that is scheduled between the start and the end of one run of a collective.

    Attributes:
        kernels: Launches that compute more than a place or a count.
        flops: Their operations.
        moved_bytes: Bytes of main memory that they read and write.
        least_seconds: The least time that they take by published peaks, or None where none are published.
    """

    kernels: int
    flops: float
    moved_bytes: int
    least_seconds: float | None


@dataclass(frozen=True)
class Exchange:
    """One collective of the optimized program.

    Attributes:
        name: Its instruction.
        kind: `all-gather`, `all-reduce`, `reduce-scatter`, `all-reduce-scatter` (a TPU's fusion of the two),
            `all-to-all`, `collective-permute`, ...
        shapes: What each device brings, by operand.
        operand_bytes: Bytes that each device brings, in one run.
        sent_bytes: The least that each device sends, in one run.
        group: How many devices exchange with each other.
        axes: The axes of the mesh along which those lie; empty where they are no axes', or no names are known.
        is_all: Whether those are all devices.
        devices: The numbers of the devices of the first group; empty where the form of the groups is not known.
        groups: The numbers of the devices of all groups; likewise.
        pairs: Of a permutation, who sends to whom.
        runs: How often it runs in a step, or None where nobody knows.
        loops: The loops and branches around it, the innermost first.
        places: The lines that it belongs to, the first most; several where the compiler made one exchange of some.
        scope: The named scopes around the operation, with `backward` for what JAX's transposition made.
        inferred: How the lines are known where the instruction says none: from what it takes, or what takes it.
        is_asked: Whether the program asks for it; False for what the partitioner brought in, None where nobody says.
        arguments: Which of the program's arguments are gathered, or have their gradients summed: as the program calls
            them, with `or` between those that shapes leave open.
        reason: The primitive that asks for it, or why the partitioner brought it in, as far as the module says.
        is_async: Whether other work may run between its start and its end.
        meanwhile: That work, or None where the exchange is not asynchronous.
        is_rematerialized: Whether it makes a value whole on each device only to cut it again.
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

    @property
    def total_bytes(self) -> int:
        """Bytes that each device brings in a step; where nobody knows how often it runs, in one run."""
        return self.operand_bytes * (1 if self.runs is None else self.runs)

    @property
    def total_sent(self) -> int:
        """The least that each device sends in a step, likewise."""
        return self.sent_bytes * (1 if self.runs is None else self.runs)

    @property
    def is_overlapped(self) -> bool:
        """True if kernels run meanwhile."""
        return self.meanwhile is not None and self.meanwhile.kernels > 0

    @property
    def where(self) -> str:
        """Its first line, with how many more there are."""
        if not self.places:
            return "?"
        more = f" +{len(self.places) - 1}" if len(self.places) > 1 else ""
        first = self.places[0]
        file = first.file.rpartition("/")[2]
        number = f":{first.line}{more}"
        return shorten(file, _LONGEST_PLACE - len(number)) + number
