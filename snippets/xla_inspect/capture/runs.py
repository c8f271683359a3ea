"""List every run of a pass, from the compiler's own record or, where it writes none, from XLA's profiler."""

from __future__ import annotations

import re
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from jax.profiler import ProfileData

from xla_inspect.capture import private
from xla_inspect.errors import InspectError
from xla_inspect.hlo.record import PassRun

if TYPE_CHECKING:
    from collections.abc import Iterator

ENTRY = re.compile(r"pass_metadata \{\n(.*?)\n\}", re.DOTALL)
FIELD = re.compile(r'^  (pass_name|pipeline_name|module_changed): "?(.*?)"?$', re.MULTILINE)
START = "pipeline-start"
CHECK = "RunInvariantCheckers"
PIPELINE = re.compile(r"(?P<name>.+) \((?P<module>[^()]*)\)")

PROFILER = threading.Lock()
"""Held while a profiler session runs: a process has one."""


def read_metadata(text: str) -> tuple[PassRun, ...]:
    """Return the runs that a dumped HloModuleMetadataProto lists, without the marks of a pipeline's start."""
    entries = [dict(FIELD.findall(body)) for body in ENTRY.findall(text)]
    return tuple(
        PassRun(entry.get("pipeline_name", ""), entry["pass_name"], entry.get("module_changed") == "true")
        for entry in entries
        if entry["pass_name"] != START
    )


@contextmanager
def recorded() -> Iterator[list[bytes]]:
    """Record XLA's own events while a compile runs; the list holds the serialized profile afterwards.

    Raises:
        InspectError: Another profile is being taken in this process.
    """
    profile: list[bytes] = []
    with PROFILER:
        try:
            session = private.start_profiler()
        except RuntimeError as error:
            message = (
                f"the passes of a CPU compile are read from XLA's profiler, and it is in use ({error}); "
                "stop the profile that this process is taking"
            )
            raise InspectError(message) from error
        try:
            yield profile
        finally:
            profile.append(session.stop())


def read_profile(profile: bytes, module: str) -> tuple[PassRun, ...]:
    """Return the runs of passes over one module that a profile holds, in order.

    XLA records a pipeline as `NAME (MODULE)`, and inside it each pass by its name; after a pass that changed the
    module it records a run of the invariant checkers (HloPassPipeline::RunPassesInternal).
    """
    best: list[PassRun] = []
    for plane in ProfileData.from_serialized_xspace(profile).planes:
        for line in plane.lines:
            runs: list[PassRun] = []
            open_events: list[tuple[float, str | None]] = []
            for event in sorted(line.events, key=lambda event: (event.start_ns, -event.end_ns)):
                while open_events and open_events[-1][0] <= event.start_ns:
                    open_events.pop()
                parent = open_events[-1][1] if open_events else None
                found = PIPELINE.fullmatch(event.name)
                pipeline = found["name"] if found and found["module"] == module else None
                open_events.append((event.end_ns, pipeline))
                if parent is None or pipeline is not None:
                    continue
                if event.name == CHECK:
                    if runs and runs[-1].pipeline == parent:
                        runs[-1] = PassRun(parent, runs[-1].name, changed=True)
                else:
                    runs.append(PassRun(parent, event.name, changed=False))
            best = max(best, runs, key=len)
    return tuple(best)
