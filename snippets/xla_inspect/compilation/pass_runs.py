"""Pass runs as recorded by XLA's profiler, for compilers that write no record of their own."""

from __future__ import annotations

import itertools
import re
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jax.profiler import ProfileData, TraceAnnotation

from xla_inspect import jax_private
from xla_inspect.captured import PASSES, PassRun
from xla_inspect.dumps import CHECKS, Record, name_run
from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CHECK = "RunInvariantCheckers"
PIPELINE = re.compile(r"(?P<name>.+) \((?P<module>[^()]*)\)")

PHASES = {
    "ScheduleGpuModule": "scheduling",
    "CompileModuleToLlvmIr": "code generation",
    "ThunkEmitter::EmitEntryComputation": "code generation",
    "ThunkEmitter::ConsumeKernels": "code generation",
    "Codegen": "code generation",
    "CompileToBackendResult": "buffer assignment and the like",
    "CpuCompiler::RunBackend": "scheduling, buffer assignment and the like",
}
"""The phases of a compile by the names of XLA's own events.

Events nest: time inside another phase or a pipeline of passes counts only for the inner one.
"""

PROFILER = threading.Lock()
"""The lock that is held during a profiler session, because a process can have only one."""

MARKS = itertools.count()
"""A counter of this process's recorded compiles, whose numbers distinguish their events from other threads'."""


@dataclass
class Recording:
    """XLA's own events during a compile: the name of the event around them, and the profile, a serialized XSpace."""

    mark: str
    profile: bytes = b""


@contextmanager
def recorded() -> Iterator[Recording]:
    """Record XLA's own events in the `with` block, in which a compile runs, and fill the recording at its end.

    Raises:
        InspectError: Another profile is being taken in this process.
    """
    recording = Recording(f"xla_inspect compile {next(MARKS)}")
    with PROFILER:
        session = jax_private.start_profiler()
        try:
            with TraceAnnotation(recording.mark):
                yield recording
        except BaseException:
            # The compile failed, and its exception must not be masked by one from the profiler.
            with suppress(RuntimeError):
                recording.profile = session.stop()
            raise
        try:
            recording.profile = session.stop()
        except RuntimeError as error:
            # XLA reports only now that another profiler session was active first.
            message = (
                f"the passes of a compile are read from XLA's profiler, and it is in use ({error}); "
                "stop the profile that this process is taking"
            )
            raise InspectError(message) from error


def read_recording(recording: Recording, module: str) -> Record:
    """Return the passes run over one module with their seconds, and the phases, from a recording; empty if it has none.

    XLA records a pipeline as `NAME (MODULE)` and, inside it, each pass by its name. Inside a pass that changed the
    module, it records a run of the invariant checkers (HloPassPipeline::RunPassesInternal in hlo_pass_pipeline.cc).
    """
    for plane in ProfileData.from_serialized_xspace(recording.profile).planes:
        for line in plane.lines:
            # The ends are negated so that an event precedes the events inside it that start at the same time.
            events = sorted(
                ((event.start_ns, -event.end_ns, event.name) for event in line.events), key=lambda event: event[:2]
            )
            # The profiler records all threads of the process, and only the compile's own thread has this mark.
            mark = next((event for event in events if event[2] == recording.mark), None)
            if mark:
                return _read_thread([event for event in events if mark[0] <= event[0] and event[1] >= mark[1]], module)
    return Record()


@dataclass
class _Open:
    """An event that encloses the current one: its end time, its pipeline, its pass run and its phase."""

    end: float
    pipeline: str | None = None
    run: int | None = None
    phase: str = ""


def _read_thread(events: Iterable[tuple[float, float, str]], module: str) -> Record:
    """Return the runs of passes over one module, with durations and phases, from one thread's events in start order."""
    runs: list[PassRun] = []
    seconds: list[float] = []
    phases: dict[str, float] = {}
    around: list[_Open] = []
    for start, minus_end, name in events:
        while around and around[-1].end <= start:
            around.pop()
        current, lasting = _Open(-minus_end), (-minus_end - start) / 1e9
        outer = around[-1] if around else _Open(0)
        match = PIPELINE.fullmatch(name)
        if match and match["module"] == module:
            current.pipeline = match["name"]
        elif outer.pipeline is not None and name != CHECK:
            current.run = len(runs)
            runs.append(name_run(outer.pipeline, name, changed=False))
            seconds.append(lasting)
            inside = next((event.run for event in reversed(around) if event.run is not None), None)
            # The duration of a nested run counts only for itself, not for the run around it.
            if inside is not None:
                seconds[inside] -= lasting
        elif outer.run is not None and name == CHECK:
            # The profiler stores no flag for a change, but XLA checks invariants only after a pass that made one.
            runs[outer.run] = replace(runs[outer.run], changed=True)
        current.phase = _find_phase(name, current, outer)
        if current.phase != outer.phase:
            # Time inside an inner phase counts for that phase alone.
            phases[current.phase] = phases.get(current.phase, 0.0) + lasting
            if outer.phase:
                phases[outer.phase] -= lasting
        around.append(current)
    return Record(tuple(runs), tuple(max(own, 0.0) for own in seconds), phases)


def _find_phase(name: str, event: _Open, around: _Open) -> str:
    """Return the phase of an event, or an empty string; all inside a pipeline is of the passes or their checks."""
    if event.pipeline is not None:
        return PASSES
    if around.pipeline is not None and name == CHECK:
        return CHECKS
    return around.phase if around.phase == PASSES else PHASES.get(name, around.phase)
