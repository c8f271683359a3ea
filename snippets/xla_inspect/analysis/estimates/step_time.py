"""The estimated time of a whole program: each launch with its runs, and the parts that overlap."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from xla_inspect.analysis import MEMORY, Count, find_stage, list_collectives, model_launches
from xla_inspect.analysis.estimates.collective_time import name_links, time_collective
from xla_inspect.analysis.estimates.compiler_figures import read_figures
from xla_inspect.analysis.estimates.device_rates import find_rates
from xla_inspect.analysis.estimates.estimate import Estimate
from xla_inspect.analysis.estimates.launch_time import BANDWIDTH, time_launch
from xla_inspect.analysis.estimates.schedule import Schedule, Task, walk_schedule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.analysis import Launched
    from xla_inspect.analysis.estimates.device_rates import DeviceRates
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction, Module

SCENARIOS = ("low", "likely", "high")
"""The ends of a range, and the most likely time."""

LAUNCHES = "launch overhead"
"""The kind of the time that launches take without any work, and of the gaps between them."""


@dataclass(frozen=True)
class TimedLaunch:
    """One launch with the time that it adds to the program.

    Attributes:
        launched: The launch with its work, its traffic and its lines.
        kind: `matmuls`, `custom calls`, `memory-bound`, `vector work`, `exposed collectives` or `exposed copies`.
        limit: The resource that determines its time.
        seconds: The time of all its runs that nothing else overlaps, without `overhead`.
        overhead: The time of all its runs as launches without any work, with the gaps after them.
        hidden: The likely seconds of all its runs that other launches overlap.
        methods: The seconds of one run by each method.
    """

    launched: Launched
    kind: str
    limit: str
    seconds: Estimate
    overhead: Estimate
    hidden: float
    methods: Mapping[str, float]

    @property
    def total(self) -> Estimate:
        """The time that the launch adds to the program."""
        return self.seconds + self.overhead


@dataclass(frozen=True)
class StepTime:
    """The estimated time of a program.

    Attributes:
        launches: The launches in order.
        unknown_loops: The loops with an unknown number of iterations, which count once.
        unknown_collectives: The number of collectives without published rates of the links, which do not count.
        has_figures: Whether the compiler's own estimates were available.
    """

    launches: tuple[TimedLaunch, ...]
    unknown_loops: tuple[str, ...]
    unknown_collectives: int
    has_figures: bool

    @property
    def seconds(self) -> Estimate:
        """The time of the whole program."""
        total = sum((launch.total for launch in self.launches), Estimate())
        return replace(total, is_least=total.is_least or self.unknown_collectives > 0)

    @cached_property
    def by_name(self) -> Mapping[str, TimedLaunch]:
        """The launches by name."""
        return {launch.launched.launch.name: launch for launch in self.launches}


def time_program(capture: Capture) -> StepTime | None:
    """Return the estimated time of a program; None on a CPU, without published peak rates, and without launches yet."""
    rates = find_rates(capture.target)
    return time_step(capture, rates) if rates and capture.after and find_stage(capture).has_launches else None


def time_step(capture: Capture, rates: DeviceRates) -> StepTime:
    """Return the estimated time of a program whose optimized module is scheduled."""
    step = _Step(capture, rates)
    count = Count(step.module)
    schedules = {
        scenario: walk_schedule(count, {one.launch.scheduled: step.plan(one, scenario) for one in step.launched})
        for scenario in SCENARIOS
    }
    return StepTime(
        tuple(step.describe(launched, schedules) for launched in step.launched),
        tuple(sorted(schedules["likely"].unknown)),
        sum(seconds is None for seconds in step.exchanges.values()),
        bool(step.figures.cycles or step.figures.models),
    )


class _Step:
    """The estimate of one capture."""

    def __init__(self, capture: Capture, rates: DeviceRates) -> None:
        self.rates, self.figures = rates, read_figures(capture)
        self.module: Module = capture.module
        self.launched = [launch for launch in model_launches(capture) if launch.bound or rates.kind == "cpu"]
        self.collectives = {collective.scheduled: collective for collective in list_collectives(self.module)}
        self.times = {
            launched.launch.scheduled: time_launch(launched, self.module, rates, self.figures)
            for launched in self.launched
        }
        devices, models = self.module.device_count, self.figures.models
        self.exchanges = {
            scheduled: time_collective(collective, rates, devices, models.get(collective.instruction.name, {}))
            for scheduled, collective in self.collectives.items()
            if scheduled in self.times
        }

    def plan(self, launched: Launched, scenario: str) -> Task:
        """Return the work of a launch in a scenario, in the foreground or in the background."""
        launch = launched.launch
        seconds: float = getattr(self.times[launch.scheduled].seconds, scenario)
        if collective := self.collectives.get(launch.scheduled):
            return Task(
                # A fusion may contain both a collective and the product that overlaps with it.
                compute=seconds if launched.work.products else 0.0,
                background=getattr(self.exchanges[launch.scheduled] or Estimate(), scenario),
                engines=name_links(collective, self.rates, self.module.device_count),
                done=collective.done,
            )
        if launch.is_async:
            # An asynchronous operation that computes runs on another stream or core.
            engine = "memory" if launch.role == "copy" else "another stream"
            return Task(background=seconds, engines=(engine,), done=find_done(self.module, launch.scheduled))
        memory = launched.bytes / self.rates.hardware.bandwidth / BANDWIDTH[self.rates.kind][1]
        return Task(compute=seconds, memory=min(memory, seconds))

    def describe(self, launched: Launched, schedules: Mapping[str, Schedule]) -> TimedLaunch:
        """Return a launch with the time that it adds to the program, from its schedule in each scenario."""
        scheduled = launched.launch.scheduled
        time = self.times[scheduled]
        total = Estimate(*(schedules[one].busy[scheduled] + schedules[one].exposed[scheduled] for one in SCENARIOS))
        likely = schedules["likely"]
        runs = likely.busy[scheduled] / time.seconds.likely if time.seconds.likely else 0.0
        floor = self.rates.floor * runs
        ends = (max(getattr(total, one) - getattr(floor, one), 0.0) for one in SCENARIOS)
        own = Estimate(*ends, is_least=time.seconds.is_least)
        own = _limit(own, is_async=launched.launch.is_async or scheduled in self.collectives)
        kind, limit = time.kind, time.limit
        if scheduled in self.collectives:
            kind, limit = "exposed collectives", "interconnect"
        elif launched.launch.is_async:
            kind, limit = "exposed copies", MEMORY
        overhead = floor + self.rates.gap * runs
        return TimedLaunch(launched, kind, limit, own, overhead, likely.hidden[scheduled], time.methods)


def find_done(module: Module, start: Instruction) -> Instruction | None:
    """Return the instruction that waits for an asynchronous start, also after updates, or None."""
    user = next((user for user in module.users(start) if user.opcode.endswith(("-done", "-update"))), None)
    return find_done(module, user) if user and user.opcode.endswith("-update") else user


def _limit(estimate: Estimate, *, is_async: bool) -> Estimate:
    """Return an estimate whose range includes the likely time, and for a kernel spans at most a factor of three.

    A wider range would say nothing. The exposed part of an asynchronous operation is a difference of two times, so it
    may vary more.
    """
    low, high = min(estimate.low, estimate.likely), max(estimate.high, estimate.likely)
    if not is_async:
        low, high = max(low, estimate.likely / math.sqrt(3)), min(high, estimate.likely * math.sqrt(3))
    return replace(estimate, low=low, high=high)
