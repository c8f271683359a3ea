"""The storage of captures as compact JSON: as a whole, or packed in parts that are read on demand."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from dataclasses import asdict, fields
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

from xla_inspect.captured.capture import Capture
from xla_inspect.captured.log_event import read_log, write_log
from xla_inspect.captured.low_level import read_low_level, write_low_level
from xla_inspect.captured.parts import Code, Constant, Cost, Equations, Memory, PassChange, PassRun, Thunk, Times
from xla_inspect.errors import InspectError
from xla_inspect.hlo import Frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

FORMAT = 7
"""The version of the format, which is increased whenever the meaning of stored data changes."""

HEAD = (
    "program",
    "target",
    "source_file",
    "source",
    "versions",
    "options",
    "sources",
    "memory",
    "cost",
    "thunks",
    "error",
    "times",
    "is_stepped",
    "missing",
)
"""The fields that a packed capture has immediately."""

LATER = (
    ("jaxpr", "jaxpr_locations", "stablehlo", "stablehlo_locations", "before", "after", "buffers", "live_ranges"),
    ("runs", "frames"),
    ("passes",),
    ("fusion_log", "code", "memory_report"),
    ("equations", "constants"),
    ("log",),
    ("low_level",),
)
"""The fields that are read together, on the first use of a field of their group."""

FIELDS = (*HEAD, *(name for names in LATER for name in names))

KEPT = ("instruction_counts", "pass_names", "files")
"""The properties that a packed capture has immediately, without reading any part."""


class LineTable:
    """The distinct lines of many similar texts, such as a module after each of its passes.

    A text is stored as runs of consecutive lines: `[first, count, first, count, ...]`.
    """

    def __init__(self, lines: Iterable[str] = ()) -> None:
        """Start with the lines of a stored table."""
        self.lines = list(lines)

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {line: index for index, line in enumerate(self.lines)}

    def add(self, text: str) -> list[int]:
        """Add the new lines of a text to the table, and return the text as runs of lines."""
        spans: list[int] = []
        end = -1
        for line in text.split("\n"):
            index = self._indices.setdefault(line, len(self.lines))
            if index == len(self.lines):
                self.lines.append(line)
            if index == end:
                spans[-1] += 1
            else:
                spans += (index, 1)
            end = index + 1
        return spans

    def get(self, spans: Sequence[int]) -> str:
        """Return the text for runs of lines."""
        lines: list[str] = []
        for first, count in zip(spans[::2], spans[1::2], strict=True):
            lines += self.lines[first : first + count]
        return "\n".join(lines)


def dump(capture: Capture) -> str:
    """Return a capture as one line of JSON."""
    return _print({"format": FORMAT, "identity": capture.identity, **_write(capture, FIELDS)})


def digest(capture: Capture) -> str:
    """Return the SHA-256 hash, in hexadecimal, of all fields of a capture, without its stored identity."""
    return hashlib.sha256(_print(_write(capture, FIELDS)).encode()).hexdigest()


def load_capture(text: str) -> Capture:
    """Read the capture that `dump` wrote.

    Raises:
        InspectError: The text is not a capture, or has another format.
    """
    record = _parse(text)
    try:
        return Capture(**_read(record, FIELDS)).retold(identity=record["identity"])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise _damaged(error) from error


def pack(capture: Capture) -> bytes:
    """Return a capture as compressed parts; the first has the small fields (`HEAD`), and lengths and checksums."""
    parts = [_compress(_print(_write(capture, names))) for names in LATER]
    record = {
        "format": FORMAT,
        "identity": capture.identity,
        "parts": [[len(part), zlib.crc32(part)] for part in parts],
        "kept": {name: getattr(capture, name) for name in KEPT},
        **_write(capture, HEAD),
    }
    return b"".join((_compress(_print(record)), *parts))


def unpack(data: bytes) -> Capture:
    """Read the capture that `pack` wrote; its longer parts are checked now and read on first use.

    Raises:
        InspectError: The data is not a capture, has another format, or is damaged.
    """
    # The object stops at the end of the first gzip member, and leaves the compressed parts in `unused_data`.
    reader = zlib.decompressobj(wbits=31)
    try:
        record = _parse(reader.decompress(data).decode())
        parts = _split(reader.unused_data, record["parts"])
        properties = {name: tuple(record["kept"][name]) for name in KEPT}
    except (zlib.error, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
        message = f"this packed capture is damaged ({type(error).__name__}: {error}); capture it again"
        raise InspectError(message) from error
    # Fields of one group share the cached reader of their part, so each part is decompressed at most once.
    later = {
        name: read_part
        for names, part in zip(LATER, parts, strict=True)
        for read_part in [cache(partial(_read_part, part, names))]
        for name in names
    }
    try:
        # The constructor would require the fields that are read only later.
        capture = Capture.__new__(Capture)
        capture.__dict__.update(_read(record, HEAD), **properties, identity=record["identity"], _later=later)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise _damaged(error) from error
    return capture


def _split(data: bytes, parts: Sequence[Sequence[int]]) -> list[bytes]:
    """Split data into its parts and check their lengths and checksums.

    Raises:
        ValueError: A length or a checksum is wrong.
    """
    valid_parts: list[bytes] = []
    start = 0
    for length, checksum in parts:
        part = data[start : start + length]
        if len(part) != length or zlib.crc32(part) != checksum:
            message = f"part {len(valid_parts)} is not what was written"
            raise ValueError(message)
        valid_parts.append(part)
        start += length
    if start != len(data) or len(valid_parts) != len(LATER):
        message = "there are more or fewer parts than were written"
        raise ValueError(message)
    return valid_parts


def _read_part(part: bytes, names: Iterable[str]) -> dict[str, Any]:
    return _read(json.loads(gzip.decompress(part)), names)


def _compress(text: str) -> bytes:
    # Without a time stamp, equal captures have equal bytes.
    return gzip.compress(text.encode(), compresslevel=3, mtime=0)


def _print(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def _parse(text: str) -> dict[str, Any]:
    """Parse the JSON record of a capture.

    Raises:
        InspectError: The text is not a capture, or has another format.
    """
    try:
        record = json.loads(text)
    except ValueError as error:
        message = f"this is not a capture: {error}"
        raise InspectError(message) from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        version = record.get("format") if isinstance(record, dict) else None
        message = f"this is a capture of format {version!r}, and format {FORMAT} is read here; capture it again"
        raise InspectError(message)
    return record


def _damaged(error: Exception) -> InspectError:
    return InspectError(f"this capture is damaged ({type(error).__name__}: {error}); capture it again")


def _write(capture: Capture, names: Iterable[str]) -> dict[str, Any]:
    """Return some fields of a capture as JSON data by name, with one table of the texts' distinct lines (`lines`)."""
    table = LineTable()
    record = {name: _write_field(name, getattr(capture, name), table) for name in names}
    return {**record, "lines": table.lines}


def _write_field(name: str, value: Any, table: LineTable) -> Any:  # noqa: ANN401 - whatever the field holds
    if name in _TEXTS:
        return table.add(value)
    return _WRITE[name](value, table) if name in _WRITE else value


def _read(record: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return some fields of a capture by name, from JSON data."""
    table = LineTable(record["lines"])
    return {name: _read_field(name, record[name], table) for name in names}


def _read_field(name: str, value: Any, table: LineTable) -> Any:  # noqa: ANN401 - whatever JSON holds
    if name in _TEXTS:
        return table.get(value)
    return _READ[name](value, table) if name in _READ else value


def _read_thunk(thunk: Mapping[str, Any]) -> Thunk:
    """Return the thunk of a JSON record, with its dimensions as tuples instead of lists."""
    plain: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in thunk.items()}
    return Thunk(**plain)


def _flat(record: Cost | Thunk | Frame | Equations | Constant) -> dict[str, Any]:
    """Return the fields of a record by name, in order."""
    return {column.name: getattr(record, column.name) for column in fields(record)}


_TEXTS = {"stablehlo", "stablehlo_locations", "before", "after", "buffers", "live_ranges"}

_WRITE: Mapping[str, Callable[[Any, LineTable], Any]] = {
    "versions": lambda versions, _: dict(versions),
    "options": lambda options, _: dict(options),
    "missing": lambda missing, _: dict(missing),
    "sources": lambda sources, _: dict(sources),
    "runs": lambda runs, _: [[run.pipeline, run.name, run.changed] for run in runs],
    "passes": lambda passes, table: [[change.pipeline, change.name, table.add(change.text)] for change in passes],
    "memory": lambda memory, _: asdict(memory),
    "times": lambda times, _: asdict(times),
    "cost": lambda cost, _: {**_flat(cost), "details": dict(cost.details)},
    "thunks": lambda thunks, _: [_flat(thunk) for thunk in thunks],
    "fusion_log": lambda steps, _: list(steps),
    "code": lambda code, table: [[piece.kernel, piece.language, table.add(piece.text)] for piece in code],
    "log": lambda events, _: write_log(events),
    "low_level": lambda kernels, table: write_low_level(kernels, table.add),
    "equations": lambda equations, _: [list(_flat(equation).values()) for equation in equations],
    "constants": lambda constants, _: [list(_flat(constant).values()) for constant in constants],
    "frames": lambda frames, _: [
        [key, [list(_flat(frame).values()) for frame in chain]] for key, chain in frames.items()
    ],
}

_READ: Mapping[str, Callable[[Any, LineTable], Any]] = {
    "runs": lambda runs, _: tuple(PassRun(*run) for run in runs),
    "passes": lambda passes, table: tuple(
        PassChange(pipeline, name, table.get(text)) for pipeline, name, text in passes
    ),
    "memory": lambda memory, _: Memory(**memory),
    "times": lambda times, _: Times(**{**times, "passes": tuple(times["passes"])}),
    "cost": lambda cost, _: Cost(**cost),
    "thunks": lambda thunks, _: tuple(map(_read_thunk, thunks)),
    "fusion_log": lambda steps, _: tuple(steps),
    "code": lambda code, table: tuple(Code(kernel, language, table.get(text)) for kernel, language, text in code),
    "log": lambda written, _: read_log(written),
    "low_level": lambda written, table: read_low_level(written, table.get),
    "equations": lambda equations, _: tuple(Equations(*row) for row in equations),
    "constants": lambda constants, _: tuple(
        Constant(dtype, tuple(shape), *others) for dtype, shape, *others in constants
    ),
    "frames": lambda frames, _: {key: tuple(Frame(*frame) for frame in chain) for key, chain in frames},
}
