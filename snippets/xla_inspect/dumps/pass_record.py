"""Every run of a pass, as the compiler's own record of a compile has them."""

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
"""What the checks of a module are called that run before a pipeline's passes."""
BETWEEN = "between pipelines, as scheduling"
"""What the time is called between two pipelines, in which the compiler does what is no pass."""

LANDMARKS = {
    "memory spaces and buffer assignment": "after_optimizations-buffer-assignment.txt",
    "code generation": "after_codegen.txt",
}
"""Parts of a TPU's compile after its passes, and the file that is written at the end of each."""


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
    entries = [entry for body in ENTRY.findall(text) if "pass_name" in (entry := dict(FIELD.findall(body)))]
    spans = [(_read_time(entry, "start_timestamp_usec"), _read_time(entry, "end_timestamp_usec")) for entry in entries]
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


def _read_time(entry: Mapping[str, str], name: str) -> float:
    """Return a moment in seconds, 0 where it is not told or makes no sense."""
    text = entry.get(name, "")
    return int(text) / 1e6 if re.fullmatch(r"[0-9]{1,18}", text) else 0.0


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
