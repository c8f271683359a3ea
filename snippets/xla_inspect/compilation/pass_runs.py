"""List every run of a pass, from the compiler's own record or, where it writes none, from XLA's profiler."""

from __future__ import annotations

import itertools
import re
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING

from jax.profiler import ProfileData, TraceAnnotation

from xla_inspect import jax_private
from xla_inspect.captured import PASSES, REST, PassRun
from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

ENTRY = re.compile(r"pass_metadata \{\n(.*?)\n\}", re.DOTALL)
FIELD = re.compile(
    r'^  (pass_name|pipeline_name|module_changed|start_timestamp_usec|end_timestamp_usec): "?(.*?)"?$', re.MULTILINE
)
NUMBERED = re.compile(r"^(apply-xla-transforms)-\d+$")
START = "pipeline-start"
CHECK, CHECKS = "RunInvariantCheckers", "checks before each pipeline"
BETWEEN = "between pipelines, as scheduling"
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
"""What XLA calls a part of a compile in its own events, and what it is called here.

Inside one of them another may stand, or a pipeline of passes, whose time is then that one's alone.
"""

LANDMARKS = {
    "memory spaces and buffer assignment": "after_optimizations-buffer-assignment.txt",
    "code generation": "after_codegen.txt",
}
"""Parts of a TPU's compile after its passes, and the file that is written at the end of each."""

PROFILER = threading.Lock()
"""Held while a profiler session runs: a process has one."""

MARKS = itertools.count()
"""Numbers the recorded compiles of this process, to tell their events from those of other threads."""


@dataclass(frozen=True)
class Record:
    """What is known of the passes of one compile.

    Attributes:
        runs: Every run of a pass, in order.
        seconds: How long each took, without what ran inside it that is a run of its own.
        phases: What else the compile was recorded to consist of, by name, in seconds, in order.
        end: When the last pass ended, by the system's clock, or 0 where that is not known.
    """

    runs: tuple[PassRun, ...] = ()
    seconds: tuple[float, ...] = ()
    phases: Mapping[str, float] = field(default_factory=dict)
    end: float = 0.0


def read_metadata(text: str) -> Record:
    """Return the runs that a dumped HloModuleMetadataProto lists, without the marks of a pipeline's start.

    The time between two runs is that of neither: in a pipeline the compiler prints the module meanwhile, and between
    two it does what is no pass, such as to schedule.
    """
    entries = [dict(FIELD.findall(body)) for body in ENTRY.findall(text)]
    spans = [
        (int(entry.get("start_timestamp_usec", 0)) / 1e6, int(entry.get("end_timestamp_usec", 0)) / 1e6)
        for entry in entries
    ]
    own = _subtract_inner(spans)
    kept = [number for number, entry in enumerate(entries) if entry["pass_name"] != START]
    checks = sum(seconds for entry, seconds in zip(entries, own, strict=True) if entry["pass_name"] == START)
    ended = list(accumulate((end for _, end in spans), max))
    between = sum(
        max(start - before, 0.0)
        for (start, _), before, entry in zip(spans[1:], ended, entries[1:], strict=False)
        if entry["pass_name"] == START
    )
    whole = ended[-1] - spans[0][0] if spans else 0.0
    return Record(
        tuple(
            name_run(entry.get("pipeline_name", ""), entry["pass_name"], changed=entry.get("module_changed") == "true")
            for number in kept
            for entry in [entries[number]]
        ),
        tuple(own[number] for number in kept),
        {PASSES: whole - checks - between, CHECKS: checks, BETWEEN: between} if spans else {},
        ended[-1] if spans else 0.0,
    )


def add_files(record: Record, written: Mapping[str, float], end: float) -> dict[str, float]:
    """Return the phases of a compile whose later parts are known by the files that they end with.

    Args:
        record: What the compiler recorded of its passes.
        written: When it wrote each file, by name, on the clock of its record.
        end: When it was done.
    """
    phases = dict(record.phases)
    last = record.end
    for name, ending in LANDMARKS.items():
        found = [time for file, time in written.items() if file.endswith(ending)]
        if last and found and last <= found[0] <= end:
            phases[name], last = found[0] - last, found[0]
    return phases


def complete(phases: Mapping[str, float], total: float) -> dict[str, float]:
    """Return phases with what is not recorded, so that they sum to how long the compile took."""
    return {**phases, REST: max(total - sum(phases.values()), 0.0)} if phases else {}


def _subtract_inner(spans: Sequence[tuple[float, float]]) -> list[float]:
    """Return how long each span is without those inside it, which follow it; one that never ended counts as nothing."""
    own = [max(end - start, 0.0) for start, end in spans]
    around: list[int] = []
    for number, (start, end) in enumerate(spans):
        while around and spans[around[-1]][1] <= start:
            around.pop()
        if around and end <= spans[around[-1]][1]:
            own[around[-1]] -= max(end - start, 0.0)
        if end > start:
            around.append(number)
    return [max(seconds, 0.0) for seconds in own]


def name_run(pipeline: str, name: str, *, changed: bool) -> PassRun:
    """Return a run without the number that some passes carry: it counts the modules of the process."""
    return PassRun(pipeline, NUMBERED.sub(r"\1", name), changed)


@dataclass
class Recording:
    """XLA's own events during a compile: a serialized XSpace, and the name of the event around them."""

    mark: str
    profile: bytes = b""


@contextmanager
def recorded() -> Iterator[Recording]:
    """Record XLA's own events while a compile runs in this thread; the recording is filled at the end.

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
            # The compile failed, and that is what the caller is told.
            with suppress(RuntimeError):
                recording.profile = session.stop()
            raise
        try:
            recording.profile = session.stop()
        except RuntimeError as error:
            # XLA says only now that another session was there first.
            message = (
                f"the passes of a compile are read from XLA's profiler, and it is in use ({error}); "
                "stop the profile that this process is taking"
            )
            raise InspectError(message) from error


def read_recording(recording: Recording, module: str) -> Record:
    """Return the runs of passes over one module that were recorded, in order.

    XLA records a pipeline as `NAME (MODULE)` and inside it each pass by its name; inside a pass that changed the
    module it records a run of the invariant checkers (HloPassPipeline::RunPassesInternal in hlo_pass_pipeline.cc).
    """
    for plane in ProfileData.from_serialized_xspace(recording.profile).planes:
        for line in plane.lines:
            events = sorted(
                ((event.start_ns, -event.end_ns, event.name) for event in line.events), key=lambda event: event[:2]
            )
            mark = next((event for event in events if event[2] == recording.mark), None)
            if mark:
                return _read_thread([event for event in events if mark[0] <= event[0] and event[1] >= mark[1]], module)
    return Record()


@dataclass
class _Open:
    """An event around the current one: where it ends, the pipeline and the run that it is, and its phase."""

    end: float
    pipeline: str | None = None
    run: int | None = None
    phase: str = ""


def _read_thread(events: Iterable[tuple[float, float, str]], module: str) -> Record:
    """Return the runs of passes over one module from one thread's events, in order of their start."""
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
            inside = next((each.run for each in reversed(around) if each.run is not None), None)
            if inside is not None:
                seconds[inside] -= lasting
        elif outer.run is not None and name == CHECK:
            runs[outer.run] = replace(runs[outer.run], changed=True)
        current.phase = _find_phase(name, current, outer)
        if current.phase != outer.phase:
            phases[current.phase] = phases.get(current.phase, 0.0) + lasting
            if outer.phase:
                phases[outer.phase] -= lasting
        around.append(current)
    return Record(tuple(runs), tuple(max(own, 0.0) for own in seconds), phases)


def _find_phase(name: str, event: _Open, around: _Open) -> str:
    """Return the phase that an event is of: what runs inside a pipeline is of the passes, whatever it is."""
    if event.pipeline is not None:
        return PASSES
    if around.pipeline is not None and name == CHECK:
        return CHECKS
    return around.phase if around.phase == PASSES else PHASES.get(name, around.phase)
