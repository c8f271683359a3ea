"""The steps of the GPU's fusion cost model, which captures hold apart, as events of the log that they belong to."""

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
"""What tables call these steps; the other sources are files of XLA."""

ASKER = "priority-fusion"
"""The pass that asks the cost model."""

_FUSING = re.compile(r"Fusing %(\S+) = .* into %(\S+) = ", re.DOTALL)


def weave_log(capture: Capture) -> tuple[LogEvent, ...]:
    """Return a capture's log with each step of the GPU's cost model after the message about the step.

    A fusion that the pass spoke of is not told again. An estimate ends with whether fusing saves time or costs some,
    and whether it was made all the same.
    """
    sentence = [(event, _FUSING.match(event.text)) for event in capture.log if event.source == "priority_fusion"]
    fused = {(result[1], result[2]): event for event, result in sentence if result}
    lines = tuple(dict.fromkeys(capture.fusion_log))
    merges = {(merge.producer, merge.consumer) for merge in parse_log(lines).merges}
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
            made = any((estimate.producer, consumer) in merges for consumer in estimate.consumers)
            yield f"{line}; {'saves' if estimate.gain >= 0 else 'costs, yet made' if made else 'costs'}"
        told = any((merge.producer, merge.consumer) in fused for merge in log.merges)
        if not log.estimates and not told:
            yield line
