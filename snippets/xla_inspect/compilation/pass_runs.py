"""List every run of a pass, from the compiler's own record or, where it writes none, from XLA's profiler."""

from __future__ import annotations

import itertools
import re
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jax.profiler import ProfileData, TraceAnnotation

from xla_inspect import jax_private
from xla_inspect.captured import PassRun
from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jax.profiler import ProfileEvent

ENTRY = re.compile(r"pass_metadata \{\n(.*?)\n\}", re.DOTALL)
FIELD = re.compile(r'^  (pass_name|pipeline_name|module_changed): "?(.*?)"?$', re.MULTILINE)
NUMBERED = re.compile(r"^(apply-xla-transforms)-\d+$")
START = "pipeline-start"
CHECK = "RunInvariantCheckers"
PIPELINE = re.compile(r"(?P<name>.+) \((?P<module>[^()]*)\)")

PROFILER = threading.Lock()
"""Held while a profiler session runs: a process has one."""

MARKS = itertools.count()
"""Numbers the recorded compiles of this process, to tell their events from those of other threads."""


def read_metadata(text: str) -> tuple[PassRun, ...]:
    """Return the runs that a dumped HloModuleMetadataProto lists, without the marks of a pipeline's start."""
    entries = [dict(FIELD.findall(body)) for body in ENTRY.findall(text)]
    return tuple(
        name_run(entry.get("pipeline_name", ""), entry["pass_name"], changed=entry.get("module_changed") == "true")
        for entry in entries
        if entry["pass_name"] != START
    )


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


def read_recording(recording: Recording, module: str) -> tuple[PassRun, ...]:
    """Return the runs of passes over one module that were recorded, in order.

    XLA records a pipeline as `NAME (MODULE)` and inside it each pass by its name; inside a pass that changed the
    module it records a run of the invariant checkers (HloPassPipeline::RunPassesInternal in hlo_pass_pipeline.cc).
    """
    for plane in ProfileData.from_serialized_xspace(recording.profile).planes:
        for line in plane.lines:
            events = sorted(line.events, key=lambda event: (event.start_ns, -event.end_ns))
            mark = next((event for event in events if event.name == recording.mark), None)
            if mark:
                return tuple(_read_thread([event for event in events if mark.start_ns <= event.start_ns], module))
    return ()


def _read_thread(events: Iterable[ProfileEvent], module: str) -> list[PassRun]:
    """Return the runs of passes over one module from one thread's events, in order of their start."""
    runs: list[PassRun] = []
    # The events around the current one: where each ends, the pipeline that it is, the run that it is.
    around: list[tuple[float, str | None, int | None]] = []
    for event in events:
        while around and around[-1][0] <= event.start_ns:
            around.pop()
        _, pipeline, run = around[-1] if around else (0, None, None)
        match = PIPELINE.fullmatch(event.name)
        if match and match["module"] == module:
            around.append((event.end_ns, match["name"], None))
        elif pipeline is not None and event.name != CHECK:
            around.append((event.end_ns, None, len(runs)))
            runs.append(name_run(pipeline, event.name, changed=False))
        else:
            if run is not None and event.name == CHECK:
                runs[run] = replace(runs[run], changed=True)
            around.append((event.end_ns, None, None))
    return runs
