"""The steps of the GPU's fusion cost model, which captures store separately, as events of the log."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from xla_inspect.analysis import parse_log
from xla_inspect.captured import LogEvent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xla_inspect.captured import Capture

SOURCE = "fusion_log"
"""The source of the cost model's steps in the message tables; other sources are files of XLA."""

ASKER = "priority-fusion"
"""The pass that uses the cost model."""

_FUSING = re.compile(r"Fusing %(\S+) = .* into %(\S+) = ", re.DOTALL)


def weave_log(capture: Capture) -> tuple[LogEvent, ...]:
    """Return a capture's log with the steps of the GPU's cost model inserted after the run of the pass that used it.

    A fusion that the log already contains is not repeated. The text of an estimate ends with whether fusing saves or
    costs time, and whether the pass fused in spite of the cost.
    """
    matches = [(event, _FUSING.match(event.text)) for event in capture.log if event.source == "priority_fusion"]
    fused = {(match[1], match[2]): event for event, match in matches if match}
    # The pass estimates a producer again after each fusion of its neighbors, so lines may repeat.
    lines = tuple(dict.fromkeys(capture.fusion_log))
    merges = {(merge.producer, merge.consumer) for merge in parse_log(lines).merges}
    # The steps have no run number, so they are assigned to the run of the pass that logged most of the same fusions.
    runs = (
        Counter(event.run for pair, event in fused.items() if pair in merges)
        or Counter(event.run for event in fused.values())
        or Counter(event.run for event in capture.log if event.name == ASKER)
    )
    if not runs or not lines:
        return capture.log
    run = runs.most_common(1)[0][0]
    last = max(place for place, event in enumerate(capture.log) if event.run == run)
    at = capture.log[last]
    steps = tuple(
        LogEvent(at.run, at.pipeline, at.name, at.module, SOURCE, 0, text) for text in _tell(lines, fused, merges)
    )
    return (*capture.log[: last + 1], *steps, *capture.log[last + 1 :])


def _tell(
    lines: tuple[str, ...], fused: Mapping[tuple[str, str], LogEvent], merges: set[tuple[str, str]]
) -> Iterator[str]:
    for line in lines:
        log = parse_log((line,))
        for estimate in log.estimates:
            is_fused = any((estimate.producer, consumer) in merges for consumer in estimate.consumers)
            yield f"{line}; {'saves' if estimate.gain >= 0 else 'costs, yet made' if is_fused else 'costs'}"
        is_logged = any((merge.producer, merge.consumer) in fused for merge in log.merges)
        if not log.estimates and not is_logged:
            yield line
