"""The walk through a schedule that overlaps asynchronous operations with the launches after their start."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.analysis import Count
    from xla_inspect.hlo import Computation, Instruction


STRUCTURE = frozenset({"while", "conditional", "call"})
"""Opcodes that run other computations as parts of the schedule."""


@dataclass(frozen=True)
class Task:
    """The time of one scheduled operation, in the foreground and in the background.

    Attributes:
        compute: The seconds during which the core is busy with it.
        memory: The part of `compute` during which it uses main memory, which delays asynchronous copies.
        background: The seconds during which it may run at the same time as other launches, until one waits for its end.
        engines: The units that run it in the background, such as `memory` or some links; each runs one operation at a
            time.
        done: The instruction that waits for the end, or None if the start itself waits.
    """

    compute: float = 0.0
    memory: float = 0.0
    background: float = 0.0
    engines: tuple[str, ...] = ()
    done: Instruction | None = None


@dataclass
class Schedule:
    """The seconds that each instruction adds to the program's time, in all of its runs.

    Attributes:
        busy: Seconds during which an instruction occupies the core, by instruction.
        exposed: Seconds during which an asynchronous instruction runs and the core waits, by the start's instruction.
        hidden: Seconds during which an asynchronous instruction runs and the core is busy, in the same way.
        unknown: The names of loops with an unknown number of iterations, which count once.
    """

    busy: dict[Instruction, float] = field(default_factory=lambda: defaultdict(float))
    exposed: dict[Instruction, float] = field(default_factory=lambda: defaultdict(float))
    hidden: dict[Instruction, float] = field(default_factory=lambda: defaultdict(float))
    unknown: set[str] = field(default_factory=set)


class _Transfer(NamedTuple):
    """The time in which engines run an asynchronous operation; it begins after their earlier operations."""

    start: Instruction
    engines: frozenset[str]
    begin: float
    end: float


class _Run:
    """The time within one run of a computation, with the transfers that nothing waited for yet."""

    def __init__(
        self,
        count: Count,
        tasks: Mapping[Instruction, Task],
        schedule: Schedule,
        runs: float,
        branches: dict[str, float],
    ) -> None:
        self.count, self.tasks, self.schedule, self.runs, self.now = count, tasks, schedule, runs, 0.0
        # The seconds of each branch, without which nested conditionals would be walked twice for each level.
        self.branches = branches
        self.free: dict[str, float] = defaultdict(float)
        self.transfers: dict[Instruction, _Transfer] = {}
        self.work: list[tuple[float, float]] = []

    def begin(self, instruction: Instruction, task: Task) -> None:
        """Begin a transfer as soon as its engines are free."""
        begin = max([self.now, *(self.free[engine] for engine in task.engines)])
        end = begin + task.background
        self.free.update(dict.fromkeys(task.engines, end))
        self.transfers[task.done or instruction] = _Transfer(instruction, frozenset(task.engines), begin, end)

    def spend(self, seconds: float) -> None:
        """Let the core work."""
        if seconds:
            self.work.append((self.now, self.now + seconds))
            self.now += seconds

    def wait(self, waiter: Instruction) -> None:
        """Wait for the end of a transfer: first for earlier ones that use its engines, and then for itself."""
        transfer = self.transfers.pop(waiter)
        rest = max(transfer.end - self.now, 0.0)
        for other in self.transfers.values():
            if other.end <= transfer.begin and not other.engines.isdisjoint(transfer.engines):
                part = min(max(other.end - max(other.begin, self.now), 0.0), rest)
                self.schedule.exposed[other.start] += part * self.runs
                rest -= part
        self.schedule.exposed[transfer.start] += rest * self.runs
        late = takewhile(lambda span: span[1] > transfer.begin, reversed(self.work))
        hidden = sum(max(min(end, transfer.end) - max(begin, transfer.begin), 0.0) for begin, end in late)
        self.schedule.hidden[transfer.start] += hidden * self.runs
        self.now = max(self.now, transfer.end)

    def walk(self, computation: Computation) -> float:
        """Add the time of a computation to the schedule, and return the seconds of one run."""
        for instruction in computation:
            task = self.tasks.get(instruction)
            if instruction.opcode in STRUCTURE:
                self.spend(self.call(instruction))
            elif task is not None:
                if task.background:
                    self.begin(instruction, task)
                if task.compute:
                    self.free["memory"] = max(self.free["memory"], self.now) + task.memory
                    self.schedule.busy[instruction] += task.compute * self.runs
                    self.spend(task.compute)
            if instruction in self.transfers:
                self.wait(instruction)
        for waiter in list(self.transfers):
            self.wait(waiter)
        return self.now

    def call(self, instruction: Instruction) -> float:
        """Add the time of the computations that an instruction runs, and return their seconds in one run of it."""
        count, module = self.count, self.count.module
        if instruction.opcode == "conditional":
            branches = map(module.computation, dict.fromkeys(instruction.called))
            longest = max(branches, key=self.time_branch, default=None)
            return self.make_inner(self.schedule, self.runs).walk(longest) if longest else 0.0
        seconds = 0.0
        for name in instruction.called:
            times = count.loops.count_calls(instruction, name)
            if times is None:
                self.schedule.unknown.add(instruction.name)
                times = 1
            inner = self.make_inner(self.schedule, self.runs * times)
            seconds += times * inner.walk(module.computation(name))
        return seconds

    def time_branch(self, branch: Computation) -> float:
        """Return the seconds of one run of a branch."""
        if branch.name not in self.branches:
            self.branches[branch.name] = self.make_inner(Schedule(), 1).walk(branch)
        return self.branches[branch.name]

    def make_inner(self, schedule: Schedule, runs: float) -> _Run:
        """Return a run of another computation inside this one."""
        return _Run(self.count, self.tasks, schedule, runs, self.branches)


def walk_schedule(count: Count, tasks: Mapping[Instruction, Task]) -> Schedule:
    """Return the time of a program by instruction, from the task of each scheduled operation.

    The core runs one instruction after the other. The body of a loop counts as often as it runs, and the longest branch
    of a conditional counts. The end of a computation waits for its asynchronous operations.
    """
    schedule = Schedule()
    _Run(count, tasks, schedule, 1, {}).walk(count.module.entry)
    return schedule
