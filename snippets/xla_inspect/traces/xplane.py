"""A reader of the profiles of XLA's profiler, `.xplane.pb`, which have planes of devices with lines of events.

The numbers of the fields are those of `xplane.proto` in the OpenXLA sources.
"""

from __future__ import annotations

import mmap
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xla_inspect import wire
from xla_inspect.traces.event import Event, name_op

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from xla_inspect.traces.event import Source

FORM = "XProf profile"

_PLANES = 1
_PLANE = {"name": 2, "lines": 3, "event_metadata": 4, "stat_metadata": 5}
_LINE = {"name": 2, "timestamp_ns": 3, "events": 4, "display_name": 11}
_EVENT = {"metadata_id": 1, "offset_ps": 2, "duration_ps": 3, "stats": 4}
_METADATA = {"name": 2, "display_name": 4, "stats": 5}
_VALUE = 2
_INT64 = 4
_FIRST_NUMBER, _MORE = 0x08, 0x80
_ASKED = frozenset({"hlo_op", "hlo_module", "long_name", "program_id"})
_PROGRAMS, _HLO, _CPU = "/host:metadata", "Hlo Proto", "cpu_version"
_DEVICE = re.compile(r"/device:(TPU|GPU):")
# The first plane begins with its length, often its number, and its name.
_START = re.compile(
    rb"\n[\x01-\xff]{1,9}?(?:\x08[\x00-\xff]{1,10}?)?\x12[\x01-\x7f](?:/(?:host|device):|Task Environment)"
)


@dataclass
class _Kind:
    """The common properties of the events of one kind.

    Attributes:
        name: The name of the events.
        details: The fields that all of the events share.
    """

    name: str = ""
    details: dict[str, Any] = field(default_factory=dict)


@dataclass
class _Plane:
    name: str
    lines: list[memoryview]
    kinds: dict[int, _Kind]
    stats: dict[int, str]


def is_profile(data: bytes) -> bool:
    """Return whether data is a profile, judged by its first bytes."""
    return _START.match(data) is not None


def read_programs(data: memoryview) -> Iterator[tuple[str, str, memoryview]]:
    """Yield each program in a profile: its device's kind (`gpu`, `tpu`, `cpu` or ""), its name, and its `HloProto`.

    Raises:
        EOFError: The profile is cut off.
        ValueError: The data is not a profile.
        TypeError: As above.
    """
    planes = [_bytes(plane) for number, plane in wire.read_fields(data) if number == _PLANES]
    names = [_find_text(plane, _PLANE["name"]) for plane in planes]
    kind = next((match[1].lower() for match in map(_DEVICE.match, names) if match), "")
    for plane in (plane for plane, name in zip(planes, names, strict=True) if name == _PROGRAMS):
        stats = _read_plane(plane).stats
        for entry in (_bytes(value) for number, value in wire.read_fields(plane) if number == _PLANE["event_metadata"]):
            _, program = _read_entry(entry)
            for stat in (_bytes(value) for number, value in wire.read_fields(program) if number == _METADATA["stats"]):
                *_, (_, proto) = wire.read_fields(stat)
                if stats.get(_find_key(stat)) == _HLO:
                    name = _find_text(program, _METADATA["name"])
                    yield kind or ("cpu" if _CPU in stats.values() else ""), name, _bytes(proto)


def read_events(source: Source, detailed: bool) -> Iterator[Event]:  # noqa: FBT001 - as Source calls it
    """Yield the events of a profile, and store the names of its planes and lines in the source.

    Raises:
        InspectError: The file is not such a profile.
        EOFError: The file is cut off.
    """
    planes = 0
    try:
        for number, value in wire.read_fields(memoryview(source.data or _map_file(source.path))):
            if number == _PLANES and isinstance(value, memoryview):
                plane = _read_plane(value)
                planes += bool(plane.name)
                yield from _read_events(source, str(planes), plane, detailed=detailed)
    except (ValueError, TypeError) as error:
        # This error is a ValueError too, but `Source.reading` reports it with the position of the byte.
        if isinstance(error, UnicodeDecodeError):
            raise
        source.raise_trace_error(str(error))
    if not planes:
        source.raise_trace_error("no plane in it has a name")


def _map_file(path: Path) -> mmap.mmap:
    # The mapping is closed with its last reference; the traceback of an error may hold one for a while.
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


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
            stats[key] = _find_text(inner, _METADATA["name"])
    # The stats of a kind refer to names that may follow it, so kinds are decoded last.
    return _Plane(name, lines, dict(_read_kind(entry, stats) for entry in kinds), stats)


def _read_entry(data: memoryview) -> tuple[int, memoryview]:
    """Return the key and the encoded value of an entry of a protobuf map."""
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
    display_name = ""
    for number, value in wire.read_fields(inner):
        if number == _METADATA["name"]:
            kind.name = _text(value)
        elif number == _METADATA["display_name"]:
            display_name = _text(value)
        elif number == _METADATA["stats"]:
            name, text = _read_stat(_bytes(value), stats)
            kind.details[name] = text
    if display_name and display_name != kind.name:
        # The name is the text of the whole instruction, and the display name is its short name.
        kind.details.setdefault("long_name", kind.name)
        kind.name = display_name
    return key, kind


def _read_stat(data: memoryview, stats: Mapping[int, str]) -> tuple[str, str | float | None]:
    name = ""
    text: str | float | None = None
    for number, value in wire.read_fields(data):
        if number == 1 and isinstance(value, int):
            name = stats.get(value, "")
        elif isinstance(value, memoryview):
            text = _text(value) if number == 5 else None  # noqa: PLR2004 - str_value, or bytes that are not text
        elif number == 2:  # noqa: PLR2004 - double_value
            text = wire.as_float(value)
        elif number == 7:  # noqa: PLR2004 - ref_value, a shared text that is stored as a stat name
            text = stats.get(value, "")
        else:
            text = wire.as_signed(value) if number == _INT64 else value
    return name, text


def _read_events(source: Source, process: str, plane: _Plane, *, detailed: bool) -> Iterator[Event]:
    source.processes[process] = plane.name
    reader = _Reader(plane, detailed=detailed)
    for at, data in enumerate(plane.lines):
        thread = str(at)
        # The start and the name of a line may follow its events, so the line is read twice.
        start, source.threads[process, thread] = _read_line(data)
        for number, value in wire.read_fields(data):
            if number == _LINE["events"]:
                yield reader.read(_bytes(value), process, thread, start)


def _read_line(data: memoryview) -> tuple[int, str]:
    """Return the start of a line in nanoseconds and its name, which may come after its events."""
    start, name, display_name = 0, "", ""
    for number, value in wire.read_fields(data):
        if number == _LINE["timestamp_ns"] and isinstance(value, int):
            start = wire.as_signed(value)
        elif number == _LINE["name"]:
            name = _text(value)
        elif number == _LINE["display_name"]:
            display_name = _text(value)
    return start, display_name or name


class _Reader:
    """A reader of a plane's events that reads the shared properties of similar events only once."""

    def __init__(self, plane: _Plane, *, detailed: bool) -> None:
        self._plane = plane
        self._detailed = detailed
        self._asked = frozenset(key for key, name in plane.stats.items() if name in _ASKED)
        self._known: dict[tuple[int, bytes], tuple[str, str, str, str]] = {}

    def read(self, data: memoryview, process: str, thread: str, start: int) -> Event:
        """Return one event of a line, whose start is given in nanoseconds."""
        key = offset = duration = 0
        stats: list[memoryview] = []
        for number, value in wire.read_fields(data):
            if number == _EVENT["stats"]:
                stat = _bytes(value)
                # Reading only the key of the other stats saves time, because most stats do not name an instruction.
                if self._detailed or _find_key(stat) in self._asked:
                    stats.append(stat)
            elif isinstance(value, int):
                if number == _EVENT["metadata_id"]:
                    key = value
                elif number == _EVENT["offset_ps"]:
                    offset = wire.as_signed(value)
                elif number == _EVENT["duration_ps"]:
                    duration = wire.as_signed(value)
        details: dict[str, Any] = {}
        # Without details, events with the same kind and stats share one parsed name.
        if self._detailed:
            details = self._tell(key, stats)
            name, op, module, program = self._name(key, details)
        else:
            text = key, b"".join(stats)
            if text not in self._known:
                self._known[text] = self._name(key, self._tell(key, stats))
            name, op, module, program = self._known[text]
        # Add in integers: a float of nanoseconds since 1970 would lose the picoseconds of the offset.
        begin = (start * 1000 + offset) / 1000
        length = max(duration, 0) / 1000
        return Event(process, thread, name, op, module, begin, length, program=program, details=details)

    def _tell(self, key: int, stats: list[memoryview]) -> dict[str, Any]:
        kind = self._plane.kinds.get(key) or _Kind()
        return {**kind.details, **dict(_read_stat(stat, self._plane.stats) for stat in stats)}

    def _name(self, key: int, details: Mapping[str, Any]) -> tuple[str, str, str, str]:
        name = (self._plane.kinds.get(key) or _Kind()).name
        return name, *name_op(name, details), str(details.get("program_id", ""))


def _find_text(data: memoryview, number: int) -> str:
    return next((_text(value) for at, value in wire.read_fields(data) if at == number), "")


def _find_key(stat: memoryview) -> int:
    """Return the number of a stat's name, which is the first field and usually needs one byte."""
    if len(stat) > 1 and stat[0] == _FIRST_NUMBER and stat[1] < _MORE:
        return stat[1]
    return next((value for number, value in wire.read_fields(stat) if number == 1 and isinstance(value, int)), 0)


def _bytes(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        message = "a field holds a number where it should hold a message"
        raise TypeError(message)
    return value


def _text(value: int | memoryview) -> str:
    # Kernel names come from programs, so one name that is not valid text must not make the profile unreadable.
    return str(_bytes(value), "utf-8", "replace")
