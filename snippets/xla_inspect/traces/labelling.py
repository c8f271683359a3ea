"""A converter of profiles into Chrome traces that are labeled with the Python line of each event."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, cast

from xla_inspect.errors import InspectError
from xla_inspect.traces import chrome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from xla_inspect.traces.event import Event, Source

_MICRO = 1000.0
_PLAIN = (str, int, float, bool)


@dataclass(frozen=True, slots=True)
class Label:
    """The label of an event: text for its name, and additional fields.

    Attributes:
        short: The text after the name, such as `model.py:12`.
        details: The fields to add to the event's arguments, by name.
    """

    short: str
    details: Mapping[str, str]


def write_labelled(source: Source, out: Path, find: Callable[[Event], Label | None]) -> tuple[int, int]:
    """Write a profile as a labeled Chrome trace, and return the number of labeled events and of all events.

    Other records of a Chrome trace are copied, but fields outside its list of records are dropped. A file whose name
    ends in `.gz` is compressed.

    Args:
        source: The profile.
        out: The file to write; it is written completely or not at all.
        find: A function that returns the label of an event, or None.

    Raises:
        InspectError: The profile has no start times or is damaged, or the file cannot be written.
    """
    if not source.has_starts:
        message = (
            f"{source.path} holds sums, and no times at which things ran, so there is nothing to draw\n"
            "label a trace: nsys stats --report cuda_gpu_trace --format csv"
        )
        raise InspectError(message)
    # Write to a temporary file and rename it, so that an error never leaves a partial trace.
    part = out.with_name(f"{out.name}.part")
    label_count = total = 0
    try:
        with cast("IO[str]", (gzip.open if out.suffix == ".gz" else open)(part, "wt", encoding="utf-8")) as file:
            file.write('{"displayTimeUnit":"ns","traceEvents":[')
            for number, (record, has_label, is_event) in enumerate(_rewrite(source, find)):
                file.write(",\n" if number else "\n")
                file.write(json.dumps(record, separators=(",", ":")))
                label_count += has_label
                total += is_event
            file.write("\n]}\n")
        part.replace(out)
    except OSError as error:
        message = f"cannot write {out}: {error.strerror}"
        raise InspectError(message) from error
    finally:
        part.unlink(missing_ok=True)
    return label_count, total


def _rewrite(source: Source, find: Callable[[Event], Label | None]) -> Iterator[tuple[dict[str, Any], bool, bool]]:
    """Yield each record of the new trace with two flags: whether it has a label, and whether it is an event."""
    if source.form == chrome.FORM:
        with source.reading():
            for record in chrome.read_records(source):
                event = chrome.as_event(record, detailed=True)
                label = find(event) if event else None
                if label:
                    record["name"] = f"{record.get('name', '')} {label.short}".strip()
                    arguments = record.get("args")
                    record["args"] = {**(arguments if isinstance(arguments, dict) else {}), **label.details}
                yield record, label is not None, event is not None
        return
    # Trace viewers need numbers for processes and threads.
    numbers: dict[object, int] = {}
    for event in source.events(detailed=True):
        label = find(event)
        details = {name: value for name, value in event.details.items() if isinstance(value, _PLAIN) and name}
        yield (
            {
                "ph": "X",
                "pid": numbers.setdefault(event.process, len(numbers) + 1),
                "tid": numbers.setdefault((event.process, event.thread), len(numbers) + 1),
                "ts": event.start / _MICRO,
                "dur": event.duration / _MICRO,
                "name": f"{event.name} {label.short}".strip() if label else event.name,
                "args": {**details, **(label.details if label else {})},
            },
            label is not None,
            True,
        )
    # The names are known only after all events were read, so they come last.
    for process, name in source.processes.items():
        if process in numbers:
            yield _name("process_name", numbers[process], 0, name), False, False
    for place, name in source.threads.items():
        if place in numbers:
            yield _name("thread_name", numbers[place[0]], numbers[place], name), False, False


def _name(kind: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}
