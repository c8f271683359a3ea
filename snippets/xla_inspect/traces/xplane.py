"""The profiles that XLA's profiler writes, `.xplane.pb`: planes of devices and hosts, lines in them, events on these.

The numbers of the fields are those of `xplane.proto` in the OpenXLA sources.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xla_inspect.traces import wire
from xla_inspect.traces.event import Event, name_op

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xla_inspect.traces.event import Source

FORM = "XProf profile"

_PLANES = 1
_PLANE = {"name": 2, "lines": 3, "event_metadata": 4, "stat_metadata": 5}
_LINE = {"id": 1, "name": 2, "timestamp_ns": 3, "events": 4, "display_id": 10, "display_name": 11}
_EVENT = {"metadata_id": 1, "offset_ps": 2, "duration_ps": 3, "stats": 4}
_METADATA = {"name": 2, "display_name": 4, "stats": 5}
_VALUE = 2
_PICO = 1e-3
_ASKED = frozenset({"hlo_op", "hlo_module", "long_name"})


@dataclass
class _Kind:
    """What the events of one sort have in common.

    Attributes:
        name: What they are called.
        details: What is said of all of them.
    """

    name: str = ""
    details: dict[str, Any] = field(default_factory=dict)


@dataclass
class _Plane:
    name: str
    lines: list[memoryview]
    kinds: dict[int, _Kind]
    stats: dict[int, str]


def read(source: Source, detailed: bool) -> Iterator[Event]:  # noqa: FBT001 - as Source calls it
    """Yield the events of a profile.

    Args:
        source: The profile.
        detailed: Whether events are to have all that is said of them.

    Raises:
        InspectError: It is no such profile.
        EOFError: It is cut off.
    """
    planes = 0
    with source.path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        whole = memoryview(data)
        try:
            for number, value in wire.read_fields(whole):
                if number == _PLANES and isinstance(value, memoryview):
                    plane = _read_plane(value)
                    planes += bool(plane.name)
                    yield from _read_events(source, str(planes), plane, detailed=detailed)
        except (ValueError, TypeError) as error:
            if isinstance(error, UnicodeDecodeError):
                raise
            source.refuse(str(error))
        finally:
            # What still looks at the file, such as a plane of a generator that was left, would keep it open.
            plane = None  # type: ignore[assignment]
            value = 0
            whole.release()
    if not planes:
        source.refuse("no plane in it has a name")


def _read_plane(data: memoryview) -> _Plane:
    name, lines = "", []
    kinds: list[memoryview] = []
    stats: dict[int, str] = {}
    for number, value in wire.read_fields(data):
        if number == _PLANE["name"]:
            name = _text(value)
        elif number == _PLANE["lines"]:
            lines.append(_bytes(value))
        elif number == _PLANE["event_metadata"]:
            kinds.append(_bytes(value))
        elif number == _PLANE["stat_metadata"]:
            key, inner = _read_entry(_bytes(value))
            stats[key] = next((_text(text) for at, text in wire.read_fields(inner) if at == _METADATA["name"]), "")
    return _Plane(name, lines, dict(_read_kind(entry, stats) for entry in kinds), stats)


def _read_entry(data: memoryview) -> tuple[int, memoryview]:
    """Return the key and the value of an entry of a map."""
    key, inner = 0, memoryview(b"")
    for number, value in wire.read_fields(data):
        if number == 1 and isinstance(value, int):
            key = value
        elif number == _VALUE:
            inner = _bytes(value)
    return key, inner


def _read_kind(data: memoryview, stats: Mapping[int, str]) -> tuple[int, _Kind]:
    key, inner = _read_entry(data)
    kind = _Kind()
    shown = ""
    for number, value in wire.read_fields(inner):
        if number == _METADATA["name"]:
            kind.name = _text(value)
        elif number == _METADATA["display_name"]:
            shown = _text(value)
        elif number == _METADATA["stats"]:
            name, said = _read_stat(_bytes(value), stats)
            kind.details[name] = said
    if shown and shown != kind.name:
        # The whole instruction, and what it is called for short.
        kind.details.setdefault("long_name", kind.name)
        kind.name = shown
    return key, kind


def _read_stat(data: memoryview, stats: Mapping[int, str]) -> tuple[str, str | float | None]:
    name = ""
    said: str | float | None = None
    for number, value in wire.read_fields(data):
        if number == 1 and isinstance(value, int):
            name = stats.get(value, "")
        elif isinstance(value, memoryview):
            said = _text(value) if number == 5 else None  # noqa: PLR2004 - str_value, or bytes that are no text
        elif number == 2:  # noqa: PLR2004 - double_value
            said = wire.as_float(value)
        elif number == 7:  # noqa: PLR2004 - ref_value: a text that many share is the name of a stat
            said = stats.get(value, "")
        else:
            said = wire.as_signed(value)
    return name, said


def _read_events(source: Source, process: str, plane: _Plane, *, detailed: bool) -> Iterator[Event]:
    source.processes[process] = plane.name
    asked = {key for key, name in plane.stats.items() if detailed or name in _ASKED}
    for at, data in enumerate(plane.lines):
        start, thread, events = _read_line(source, process, at, data)
        for event in events:
            yield _read_event(event, plane, (process, thread, start), asked)


def _read_line(source: Source, process: str, at: int, data: memoryview) -> tuple[int, str, list[memoryview]]:
    start, names, events = 0, {"name": "", "display_name": ""}, []
    for number, value in wire.read_fields(data):
        if number == _LINE["timestamp_ns"] and isinstance(value, int):
            start = wire.as_signed(value)
        elif number == _LINE["events"]:
            events.append(_bytes(value))
        else:
            for name in names:
                if number == _LINE[name]:
                    names[name] = _text(value)
    thread = str(at)
    source.threads[process, thread] = names["display_name"] or names["name"]
    return start, thread, events


def _read_event(data: memoryview, plane: _Plane, place: tuple[str, str, int], asked: set[int]) -> Event:
    key = offset = duration = 0
    own: dict[str, Any] = {}
    for number, value in wire.read_fields(data):
        if number == _EVENT["stats"]:
            stat = _bytes(value)
            # Nearly all stats begin with the number of their name, in one byte: others need not be read.
            if len(stat) < 2 or stat[0] != 8 or stat[1] >= 0x80 or stat[1] in asked:  # noqa: PLR2004 - tag and size
                name, said = _read_stat(stat, plane.stats)
                own[name] = said
        elif isinstance(value, int):
            if number == _EVENT["metadata_id"]:
                key = value
            elif number == _EVENT["offset_ps"]:
                offset = wire.as_signed(value)
            elif number == _EVENT["duration_ps"]:
                duration = wire.as_signed(value)
    kind = plane.kinds.get(key) or _Kind()
    details = {**kind.details, **own}
    op, module = name_op(kind.name, details)
    process, thread, start = place
    return Event(
        process, thread, kind.name, op, module, start + offset * _PICO, max(duration, 0) * _PICO, details=details
    )


def _bytes(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        message = "a field holds a number where it should hold a message"
        raise TypeError(message)
    return value


def _text(value: int | memoryview) -> str:
    # Names of kernels come from programs: what is no text in one of them says nothing of the others.
    return str(_bytes(value), "utf-8", "replace")
