"""A streaming reader of traces for Chrome and Perfetto, `.json` or `.json.gz`, of any length."""

from __future__ import annotations

import gzip
import json
import math
from typing import IO, TYPE_CHECKING, Any, cast

from xla_inspect.traces.event import Event, name_op

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from xla_inspect.traces.event import Source

FORM = "Chrome trace"

GZIP = b"\x1f\x8b"
CHUNK = 1 << 20
LARGEST = 1 << 26
"""The largest number of characters of one value."""

_MICRO = 1000.0
_KEY = "traceEvents"


def read_events(source: Source, detailed: bool) -> Iterator[Event]:  # noqa: FBT001 - as Source calls it
    """Yield the events with a duration in a trace, and store the names of processes and threads in the source.

    Raises:
        InspectError: The file is not such a trace.
        EOFError: The file is cut off.
    """
    for record in read_records(source):
        if record.get("ph") == "M":
            take_name(source, record)
        elif event := as_event(record, detailed=detailed):
            yield event


def as_event(record: Mapping[str, Any], *, detailed: bool = False) -> Event | None:
    """Return the event in a record of a trace, or None for a record other than a complete event (`"ph": "X"`)."""
    start, duration = _number(record.get("ts")), _number(record.get("dur"))
    # Only complete events have a duration of their own.
    if record.get("ph") != "X" or start is None or duration is None:
        return None
    arguments = record.get("args")
    details: Mapping[str, Any] = arguments if isinstance(arguments, dict) else {}
    name = str(record.get("name") or "")
    op, module = name_op(name, details)
    process, thread = _place(record)
    remaining = details if detailed else {}
    begin, length = start * _MICRO, max(duration, 0) * _MICRO
    program = str(details.get("program_id", ""))
    return Event(process, thread, name, op, module, begin, length, program=program, details=remaining)


def take_name(source: Source, record: Mapping[str, Any]) -> None:
    """Store the name of a process or a thread in the source if a record has one."""
    arguments = record.get("args")
    name = str(arguments.get("name") or "") if isinstance(arguments, dict) else ""
    process, thread = _place(record)
    if record.get("name") == "process_name":
        source.processes[process] = name
    elif record.get("name") == "thread_name":
        source.threads[process, thread] = name


def read_records(source: Source) -> Iterator[dict[str, Any]]:
    """Yield the records of a trace unchanged.

    Raises:
        InspectError: The file is not such a trace.
        EOFError: The file is cut off.
    """
    try:
        with open_text(source.path) as file:
            yield from _read_text(source, _Scanner(file))
    except ValueError as error:
        # This error is a ValueError too, but `Source.reading` reports it with the position of the byte.
        if isinstance(error, UnicodeDecodeError):
            raise
        source.raise_trace_error(str(error))


def open_text(path: Path) -> IO[str]:
    """Return a file opened as text, which is decompressed if the file begins as gzip does."""
    with path.open("rb") as file:
        is_compressed = file.read(2) == GZIP
    # This codec skips a byte order mark, which is not JSON.
    return cast("IO[str]", (gzip.open if is_compressed else open)(path, "rt", encoding="utf-8-sig"))


def _read_text(source: Source, scanner: _Scanner) -> Iterator[dict[str, Any]]:
    opening = scanner.take()
    if opening == "[":
        # The form that is only a list of events may end anywhere, without a closing bracket.
        yield from _read_list(scanner, may_end=True)
        return
    if opening != "{":
        source.raise_trace_error(f"it begins with {opening!r}" if opening else "it is empty")
    while (char := scanner.take()) in {'"', ","}:
        if char == ",":
            continue
        scanner.back()
        key = scanner.value()
        if scanner.take() != ":":
            source.raise_trace_error(f"after the key {str(key)[:40]!r} no value follows")
        if key == _KEY:
            if scanner.take() != "[":
                source.raise_trace_error(f"{_KEY} is no list")
            yield from _read_list(scanner, may_end=False)
            # The rest of the file has no events, so it is not read.
            return
        scanner.value()
    if not char:
        raise EOFError
    source.raise_trace_error(f"it is JSON, and has no {_KEY}")


def _read_list(scanner: _Scanner, *, may_end: bool) -> Iterator[dict[str, Any]]:
    while (char := scanner.take()) not in {"]", ""}:
        if char == ",":
            continue
        scanner.back()
        value = scanner.value()
        if isinstance(value, dict):
            yield value
    if not char and not may_end:
        raise EOFError


class _Scanner:
    """Scanner of JSON values in a text that is read in chunks."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._text = ""
        self._at = self._passed = 0
        self._decode = json.JSONDecoder().raw_decode

    def take(self) -> str:
        """Return the next character that is not white space, or an empty string at the end."""
        while True:
            while self._at < len(self._text):
                char = self._text[self._at]
                self._at += 1
                if not char.isspace():
                    return char
            if not self._more(CHUNK):
                return ""

    def back(self) -> None:
        """Step back by one character, so that `take` returns it again."""
        self._at -= 1

    def value(self) -> Any:  # noqa: ANN401 - whatever JSON holds
        """Return the next JSON value.

        Raises:
            EOFError: The text ends within the value.
            ValueError: The value is not JSON, or too long.
        """
        # The decoder accepts no white space before a value, so skip it here.
        if self.take():
            self.back()
        size = CHUNK
        while True:
            try:
                value, end = self._decode(self._text, self._at)
            except json.JSONDecodeError as error:
                # The value may be incomplete only because the next chunk has not been read yet.
                if len(self._text) - self._at > LARGEST:
                    message = f"one value in it is longer than {LARGEST:,} characters"
                    raise ValueError(message) from error
                if error.pos < len(self._text) - LONGEST_WORD and "Unterminated" not in error.msg:
                    message = f"{error.msg}, {self._passed + error.pos:,} characters into it"
                    raise ValueError(message) from error
                if not self._more(size):
                    raise EOFError from error
            else:
                # A number at the end of the chunk may continue in the next one.
                if end < len(self._text) or not self._more(size):
                    self._at = end
                    return value
            # Decoding starts again from the beginning of the value, so the chunks grow to keep the total time linear.
            size *= 2

    def _more(self, size: int) -> bool:
        """Read the next chunk, discard the consumed text, and return whether the chunk has any text."""
        more = self._file.read(size)
        self._passed += self._at
        self._text = self._text[self._at :] + more
        self._at = 0
        return bool(more)


LONGEST_WORD = 16
"""The largest distance from the end at which a truncated value looks invalid, such as `-Infinity` or an escape."""


def _place(record: Mapping[str, Any]) -> tuple[str, str]:
    return str(record.get("pid", "")), str(record.get("tid", ""))


def _number(value: object) -> float | None:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    # JSON allows integers of any length, which a float may not hold.
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
