"""The recorded time of each instruction in a profile, without that of nested events such as the body of a loop."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xla_inspect.traces.event import bare_module

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from xla_inspect.traces.event import Event, Source

_DEVICE = re.compile(r"/device:(GPU|TPU)", re.IGNORECASE)
_NANO = 1e-9
_MODULES, _OPS, _STREAM = "XLA Modules", "XLA Ops", "stream"

type _Key = tuple[str, str, str]
type _Between = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Timed:
    """The summed events of a profile with one name, instruction and module.

    Attributes:
        name: The name in the profile: on a GPU the symbol of a kernel.
        op: The HLO instruction, or an empty string if the profile does not say.
        module: The module of the instruction, or an empty string.
        seconds: The total time, without the time of events nested inside on the same line.
        count: The number of runs.
        after: The last known kernel that ran before it on the same stream; empty for a known kernel, or if
            `measure_times` was called without known kernels.
        before: The next known kernel that ran after it, or an empty string in the same cases.
    """

    name: str
    op: str
    module: str
    seconds: float
    count: int
    after: str = ""
    before: str = ""


@dataclass(frozen=True, slots=True)
class Timing:
    """The times that a profile recorded, by instruction and kernel.

    Attributes:
        file: The path of the profile.
        form: The format of the file, as in `Source.form`.
        device: The kind of device that ran the work (`gpu`, `tpu` or `cpu`); empty if no event ran on
            a device or has an HLO name.
        devices: The number of devices.
        programs: The number of programs of each module: a recompiled module has the same name.
        rows: The instructions and kernels by name, those with the longest time first.
    """

    file: str
    form: str
    device: str
    devices: int
    programs: Mapping[str, int]
    rows: tuple[Timed, ...]

    @property
    def names_instructions(self) -> bool:
        """True if the profile has names of HLO instructions, and not only of kernels."""
        return any(row.op for row in self.rows)

    @property
    def seconds(self) -> float:
        """The total time on all devices, in seconds."""
        return sum(row.seconds for row in self.rows)


@dataclass
class _Track:
    """The starts, durations, keys and numbers of runs of the events on one line of a profile, in 24 bytes for each."""

    starts: array[float] = field(default_factory=lambda: array("d"))
    durations: array[float] = field(default_factory=lambda: array("d"))
    keys: array[int] = field(default_factory=lambda: array("q"))
    counts: dict[int, int] = field(default_factory=dict)


def measure_times(source: Source, known_kernels: Collection[str] = ()) -> Timing:
    """Return the times that a profile recorded, summed by instruction and kernel.

    On a GPU only the streams count, and on a TPU only the line of operations, because other lines repeat the same time.
    The threads of a host count only without a device.

    Args:
        source: The profile.
        known_kernels: The names of known kernels; other events are distinguished by the known kernels around them.

    Raises:
        InspectError: The profile cannot be read.
    """
    keys: dict[_Key, int] = {}
    tracks: dict[tuple[str, str], _Track] = defaultdict(_Track)
    modules: dict[str, list[tuple[float, float, str]]] = defaultdict(list)
    programs: dict[str, set[str]] = defaultdict(set)
    for event in source.events():
        place = event.process, event.thread
        # Events on this line repeat the work of others, but they show which module ran when.
        if source.threads.get(place) == _MODULES:
            module = bare_module(event.name)
            modules[event.process].append((event.start, event.start + event.duration, module))
            programs[module].add(event.name)
        elif event.op or _DEVICE.search(source.processes.get(event.process, "")):
            _take(tracks[place], event, keys)
            if event.module and event.program:
                programs[event.module].add(event.program)
    lines, device = _choose(tracks, source)
    names = list(keys)
    seconds: dict[tuple[_Key, _Between], float] = defaultdict(float)
    counts: dict[tuple[_Key, _Between], int] = defaultdict(int)
    for place in lines:
        track = tracks[place]
        spans = sorted(modules.get(place[0], ()))
        around = _find_around(track, names, known_kernels) if known_kernels and source.has_starts else {}
        for at, own in _own_times(track) if source.has_starts else enumerate(track.durations):
            name, op, module = names[track.keys[at]]
            key = (name, op, module or _find_module(spans, track.starts[at])), around.get(at, ("", ""))
            seconds[key] += own * _NANO
            counts[key] += track.counts.get(at, 1)
    rows = [Timed(*key, seconds[key, between], counts[key, between], *between) for key, between in seconds]
    totals = {module: len(numbers) for module, numbers in programs.items()}
    rows.sort(key=lambda row: (-row.seconds, row.name))
    return Timing(str(source.path), source.form, device, len({place[0] for place in lines}), totals, tuple(rows))


def _take(track: _Track, event: Event, keys: dict[_Key, int]) -> None:
    key = keys.setdefault((event.name, event.op, event.module), len(keys))
    if event.count > 1:
        track.counts[len(track.keys)] = event.count
    track.starts.append(event.start)
    track.durations.append(event.duration)
    track.keys.append(key)


def _choose(tracks: Iterable[tuple[str, str]], source: Source) -> tuple[list[tuple[str, str]], str]:
    """Return the lines of the profile whose times count, and their kind of device: `gpu`, `tpu`, `cpu` or ""."""
    by_device: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for place in tracks:
        match = _DEVICE.search(source.processes.get(place[0], ""))
        by_device[match[1].lower() if match else "cpu"].append(place)
    # The lines of a host only show the work of launching, so they count only without a device.
    for kind in ("tpu", "gpu"):
        if places := by_device.get(kind):
            return [*_keep_first_hand(places, source.threads)], kind
    places = by_device.get("cpu", [])
    return places, "cpu" if places else ""


def _keep_first_hand(
    places: Iterable[tuple[str, str]], threads: Mapping[tuple[str, str], str]
) -> Iterator[tuple[str, str]]:
    by_process: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for place in places:
        by_process[place[0]].append(place)
    for own in by_process.values():
        ops = [place for place in own if threads.get(place) == _OPS]
        streams = [place for place in own if threads.get(place, "").lower().startswith(_STREAM)]
        yield from streams or ops or own


def _own_times(track: _Track) -> Iterator[tuple[int, float]]:
    """Yield the number of each event of a line, with its nanoseconds without those of nested events."""
    order: Sequence[int] = range(len(track.keys))
    later = zip(track.starts[1:], track.durations[1:], strict=True)
    # Profilers usually write a line in order, and sorting needs several times the memory of everything else.
    if any((start, -duration) < (track.starts[at], -track.durations[at]) for at, (start, duration) in enumerate(later)):
        # Of two events with the same start, the longer one surrounds the shorter one.
        order = sorted(order, key=lambda at: (track.starts[at], -track.durations[at]))
    own = array("d", track.durations)
    around: list[int] = []
    for at in order:
        start, duration = track.starts[at], track.durations[at]
        while around and start >= track.starts[around[-1]] + track.durations[around[-1]]:
            around.pop()
        # Only an event that ends inside the surrounding one is nested; the tolerance of 1 ns absorbs rounding.
        if around and start + duration <= track.starts[around[-1]] + track.durations[around[-1]] + 1:
            own[around[-1]] -= duration
        around.append(at)
    for at in range(len(own)):
        # Rounding may make nested events slightly longer than the event around them.
        yield at, max(own[at], 0.0)


def _find_around(track: _Track, names: Sequence[_Key], kernels: Collection[str]) -> dict[int, _Between]:
    """Return the known kernels before and after each unknown event of a stream, by the event's number."""
    order = sorted(range(len(track.keys)), key=lambda at: track.starts[at])
    around: dict[int, _Between] = {}
    waiting: list[int] = []
    last = ""
    for at in order:
        name = names[track.keys[at]][0]
        if name in kernels:
            around.update((other, (last, name)) for other in waiting)
            waiting, last = [], name
        else:
            waiting.append(at)
    around.update((other, (last, "")) for other in waiting)
    return around


def _find_module(spans: list[tuple[float, float, str]], start: float) -> str:
    at = bisect_right(spans, start, key=lambda span: span[0]) - 1
    return spans[at][2] if at >= 0 and start < spans[at][1] else ""
