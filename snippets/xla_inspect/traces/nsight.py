"""A reader of the tables that `nsys stats --format csv` prints for an Nsight Systems profile."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

from xla_inspect.traces.chrome import open_text
from xla_inspect.traces.event import Event, name_op

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from xla_inspect.traces.event import Source

TRACE, SUMMARY = "Nsight trace", "Nsight summary"

_UNITS = {"ns": 1.0, "nsec": 1.0, "us": 1e3, "usec": 1e3, "ms": 1e6, "msec": 1e6, "s": 1e9, "sec": 1e9}
_TIME = re.compile(r"(start|duration|total time)\s*\((\w+)\)", re.IGNORECASE)
_LONGEST = 1 << 20
_DEVICE = "/device:GPU"


def find_columns(row: Sequence[str]) -> dict[str, tuple[int, float]]:
    """Return, by lower-case name, the position of each known column and the nanoseconds of its unit (1 if not a time).

    Args:
        row: A row of the file; the result is empty for a row that is not the header of a table with times and kernels.
    """
    columns: dict[str, tuple[int, float]] = {}
    for at, title in enumerate(row):
        time = _TIME.fullmatch(title.strip())
        if time and time[2].lower() in _UNITS:
            columns[time[1].lower()] = at, _UNITS[time[2].lower()]
        elif title.strip().lower() in {"name", "instances", "strm", "device"}:
            columns[title.strip().lower()] = at, 1.0
    is_table = "name" in columns and (
        {"start", "duration"} <= set(columns) or {"total time", "instances"} <= set(columns)
    )
    return columns if is_table else {}


def read_events(source: Source, detailed: bool) -> Iterator[Event]:  # noqa: FBT001 - as Source calls it
    """Yield the kernels and copies of a table, or its sums; other lines around the tables are skipped.

    Raises:
        InspectError: A line is longer than any line of such a table.
    """
    # A field that is longer than this limit means that the file is not such a table.
    csv.field_size_limit(_LONGEST)
    columns: Mapping[str, tuple[int, float]] = {}
    titles: Sequence[str] = ()
    time_column = "start" if source.form == TRACE else "total time"
    with open_text(source.path) as file:
        try:
            for row in csv.reader(file):
                # The output may have several tables, and each header replaces the columns of the one before.
                if header := find_columns(row):
                    columns, titles = header, row
                elif time_column in columns and len(row) == len(titles) and (event := _as_event(row, columns)):
                    source.processes[event.process] = event.process
                    source.threads[event.process, event.thread] = f"Stream {event.thread}"
                    yield _detail(event, titles, row) if detailed else event
        except csv.Error as error:
            source.raise_trace_error(str(error))


def _as_event(row: Sequence[str], columns: Mapping[str, tuple[int, float]]) -> Event | None:
    name = row[columns["name"][0]]
    op, module = name_op(name, {})
    # The name of a kernel may follow the NVTX range in which the kernel ran.
    name = name.rpartition("#/")[2] or name
    try:
        if "total time" in columns:
            total, count = _time(row, columns, "total time"), int(row[columns["instances"][0]].replace(",", ""))
            return Event(_DEVICE, "0", name, op, module, 0.0, total, max(count, 1))
        device = row[columns["device"][0]] if "device" in columns else ""
        stream = row[columns["strm"][0]] if "strm" in columns else "0"
        start, duration = _time(row, columns, "start"), _time(row, columns, "duration")
    except ValueError:
        return None
    return Event(f"{_DEVICE} {device}".rstrip(), stream, name, op, module, start, duration)


def _time(row: Sequence[str], columns: Mapping[str, tuple[int, float]], name: str) -> float:
    at, unit = columns[name]
    # Numbers may have commas between groups of digits.
    number = float(row[at].replace(",", "")) * unit
    # A negative or infinite number is not a measurement, so the caller skips its row.
    if not 0 <= number < float("inf"):
        message = "no time"
        raise ValueError(message)
    return number


def _detail(event: Event, titles: Sequence[str], row: Sequence[str]) -> Event:
    details = {title: cell for title, cell in zip(titles, row, strict=True) if cell}
    return Event(
        event.process, event.thread, event.name, event.op, event.module, event.start, event.duration, details=details
    )
