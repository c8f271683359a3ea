"""Every run of a pass and the durations of a compile's phases, from the compiler's own record."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

from xla_inspect.captured import PASSES, REST, PassRun

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ENTRY = re.compile(r"pass_metadata \{\n(.*?)\n\}", re.DOTALL)
FIELD = re.compile(
    r'^  (pass_name|pipeline_name|module_changed|start_timestamp_usec|end_timestamp_usec): "?(.*?)"?$', re.MULTILINE
)
NUMBERED = re.compile(r"^(apply-xla-transforms)-\d+$")
START = "pipeline-start"
CHECKS = "checks before each pipeline"
"""The name of the phase of module checks that run before a pipeline's passes."""
BETWEEN = "between pipelines, as scheduling"
"""The name of the phase between two pipelines, in which the compiler does work that is not a pass."""

LANDMARKS = {
    "memory spaces and buffer assignment": "after_optimizations-buffer-assignment.txt",
    "code generation": "after_codegen.txt",
}
"""Parts of a TPU's compile after its passes, and the file that is written at the end of each."""


@dataclass(frozen=True)
class Record:
    """The data about the passes of one compile.

    Attributes:
        runs: Every run of a pass, in order.
        seconds: The duration of each run, without the runs nested in it.
        phases: The durations in seconds of the phases (passes, `CHECKS`, `BETWEEN`), by name, in order.
        end: The time when the last pass ended, by the system's clock, or 0 if it is unknown.
    """

    runs: tuple[PassRun, ...] = ()
    seconds: tuple[float, ...] = ()
    phases: Mapping[str, float] = field(default_factory=dict)
    end: float = 0.0


def read_metadata(text: str) -> Record:
    """Return the pass runs in the text of an `HloModuleMetadataProto`, with their durations and the phases in seconds.

    Entries that mark the start of a pipeline are no runs; their time is the phase `CHECKS`.

    The time between two runs counts for neither: inside a pipeline the compiler prints the module then, and between two
    pipelines it does work that is not a pass, such as scheduling (the phase `BETWEEN`).
    """
    entries = [entry for body in ENTRY.findall(text) if "pass_name" in (entry := dict(FIELD.findall(body)))]
    spans = [(_read_time(entry, "start_timestamp_usec"), _read_time(entry, "end_timestamp_usec")) for entry in entries]
    own = _subtract_inner(spans)
    numbers = [number for number, entry in enumerate(entries) if entry["pass_name"] != START]
    checks = sum(seconds for entry, seconds in zip(entries, own, strict=True) if entry["pass_name"] == START)
    # Runs may be nested, so the latest end so far counts and not that of the previous entry.
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
            for number in numbers
            for entry in [entries[number]]
        ),
        tuple(own[number] for number in numbers),
        {PASSES: whole - checks - between, CHECKS: checks, BETWEEN: between} if spans else {},
        ended[-1] if spans else 0.0,
    )


def add_files(record: Record, file_times: Mapping[str, float], end: float) -> dict[str, float]:
    """Return a record's phases with later phases added, whose ends are the times of the files that they write.

    Args:
        record: The compiler's record of its passes.
        file_times: The modification time of each file, by name, on the same clock as the record.
        end: The time when the compile ended.
    """
    phases = dict(record.phases)
    last = record.end
    for name, ending in LANDMARKS.items():
        times = [time for file, time in file_times.items() if file.endswith(ending)]
        # File times count only if they are in order and within the compile.
        if last and times and last <= times[0] <= end:
            phases[name], last = times[0] - last, times[0]
    return phases


def complete(phases: Mapping[str, float], total: float) -> dict[str, float]:
    """Return phases with the rest of `total` seconds added as the phase `REST`, or no phases if there are none."""
    return {**phases, REST: max(total - sum(phases.values()), 0.0)} if phases else {}


def _read_time(entry: Mapping[str, str], name: str) -> float:
    """Return a timestamp in seconds, or 0 if it is missing or invalid."""
    text = entry.get(name, "")
    return int(text) / 1e6 if re.fullmatch(r"[0-9]{1,18}", text) else 0.0


def _subtract_inner(spans: Sequence[tuple[float, float]]) -> list[float]:
    """Return the duration of each (start, end) span without the spans nested in it; an unfinished span counts as 0."""
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
    """Return a pass run without the module number that some pass names carry, which varies by process."""
    return PassRun(pipeline, NUMBERED.sub(r"\1", name), changed)
