"""GPU device data adapted to each release's CUDA plugin, which rejects fields that it does not know.

A plugin contains descriptors of its protobuf messages, which list the known fields. This module parses the descriptors
directly, because the tool does not depend on a protobuf library.
"""

from __future__ import annotations

import mmap
import re
from functools import cache
from typing import TYPE_CHECKING

from xla_inspect.wire import read_fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FILE, MESSAGE = "xla/stream_executor/device_description.proto", ".stream_executor.GpuTargetConfigProto"
"""The protobuf file that describes a plugin's device data, and the message in it."""

type Fields = dict[str, dict[str, str]]
"""The fields of messages, by the message's full name; each field has the name of its message type, if any."""

_FIELD = re.compile(r"^ *(?P<name>\w+)(?:: | \{)")
_LONGEST = 1 << 20
_KNOWN = range(1, 15)
"""The field numbers of a file descriptor; any other number means that the descriptor has ended."""

# These are field numbers in protobuf's descriptor.proto.
_PACKAGE, _MESSAGES, _NAME, _FIELDS, _NESTED, _TYPE, _DEPENDENCY = 2, 4, 1, 2, 3, 6, 3


def adapt_figures(spec: str, plugin: Path | None) -> str:
    """Return a GPU's device data without the fields that a plugin does not know.

    Args:
        spec: The device data, as returned by `read_spec` of the targets.
        plugin: The plugin's shared library. The data is returned unchanged if it is None or contains no descriptor.
    """
    fields = read_message_fields(plugin) if plugin else {}
    if MESSAGE not in fields:
        return spec
    lines: list[str] = []
    within: list[str] = [MESSAGE]
    for line in spec.splitlines():
        match = _FIELD.match(line)
        if line.strip() == "}":
            if within[-1]:
                lines.append(line)
            within.pop()
            # An empty name marks a block that is dropped.
            continue
        if not match:
            continue
        begins = line.rstrip().endswith("{")
        allowed = fields.get(within[-1], {}) if within[-1] else {}
        is_known = match["name"] in allowed
        if is_known:
            lines.append(line)
        if begins:
            within.append(allowed[match["name"]] if is_known else "")
    return "".join(f"{line}\n" for line in lines)


def count_figures(text: str) -> int:
    """Return the number of fields with a value in the text of a GPU's device data."""
    return len(re.findall(r"^\s*\w+: ", text, re.MULTILINE))


@cache
def read_message_fields(library: Path) -> Fields:
    """Return the fields of the messages that describe a GPU, from the descriptors in a library."""
    fields: Fields = {}
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        waiting, visited = [FILE], set[str]()
        while waiting:
            name = waiting.pop()
            if name in visited:
                continue
            visited.add(name)
            parts = _find_description(data, name)
            package = next((_text(value) for number, value in parts if number == _PACKAGE), "")
            for number, value in parts:
                if number == _MESSAGES and isinstance(value, memoryview):
                    fields.update(_read_message(value, f".{package}"))
                elif number == _DEPENDENCY:
                    waiting.append(_text(value))
    return fields


def _find_description(data: mmap.mmap, name: str) -> list[tuple[int, int | memoryview]]:
    """Return the fields of a protobuf file's descriptor as pairs (number, value), or an empty list if it is missing."""
    encoded = name.encode()
    mark = b"\x0a" + bytes([len(encoded)]) + encoded
    # A library contains its descriptors as bytes, each of which starts with its name as field 1.
    at = data.find(mark)
    while at >= 0:
        parts: list[tuple[int, int | memoryview]] = []
        try:
            for number, value in read_fields(memoryview(data[at : at + _LONGEST])):
                # A second name is the start of the next descriptor, because each has only one name.
                if number not in _KNOWN or (number == _NAME and parts):
                    break
                parts.append((number, value))
        # The bytes after a descriptor are no fields, so an error only means that it has ended.
        except (EOFError, ValueError):
            pass
        # The same bytes may occur elsewhere by chance, but no messages follow there.
        if any(number == _MESSAGES for number, _ in parts):
            return parts
        at = data.find(mark, at + 1)
    return []


def _read_message(data: memoryview, scope: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield a message and its nested messages, each as its full name and its fields."""
    own: dict[str, str] = {}
    parts = list(read_fields(data))
    name = next((_text(value) for number, value in parts if number == _NAME), "")
    for number, value in parts:
        if number == _FIELDS and isinstance(value, memoryview):
            field: Mapping[int, int | memoryview] = dict(read_fields(value))
            own[_text(field.get(_NAME, 0))] = _text(field.get(_TYPE, 0))
        elif number == _NESTED and isinstance(value, memoryview):
            yield from _read_message(value, f"{scope}.{name}")
    yield f"{scope}.{name}", own


def _text(value: int | memoryview) -> str:
    return bytes(value).decode("utf-8", "replace") if isinstance(value, memoryview) else ""
