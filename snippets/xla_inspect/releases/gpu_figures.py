"""The figures of GPUs in the form that each release's CUDA plugin takes: it refuses a figure that it has no field for.

A plugin holds descriptions of its own protobuf messages, which say what fields there are. They are read here without
a library for it, since the tool has none.
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
"""The file that describes what a plugin takes, and the message in it."""

type Fields = dict[str, dict[str, str]]
"""The fields of messages, by the full name of the message: each with the name of its own message, if it is one."""

_FIELD = re.compile(r"^ *(?P<name>\w+)(?:: | \{)")
_LONGEST = 1 << 20
_KNOWN = range(1, 15)
"""The numbers of the fields of a file's description; behind it in a library stands something else."""

# Numbers of fields in descriptor.proto of protobuf.
_PACKAGE, _MESSAGES, _NAME, _FIELDS, _NESTED, _TYPE, _DEPENDENCY = 2, 4, 1, 2, 3, 6, 3


def adapt_figures(spec: str, plugin: Path | None) -> str:
    """Return the figures of a GPU without those that a plugin has no field for.

    Args:
        spec: The figures, as `read_spec` of the targets returns them.
        plugin: The plugin's shared library; without one the figures stay as they are.
    """
    fields = read_message_fields(plugin) if plugin else {}
    if MESSAGE not in fields:
        return spec
    kept: list[str] = []
    within: list[str] = [MESSAGE]
    for line in spec.splitlines():
        match = _FIELD.match(line)
        if line.strip() == "}":
            if within[-1]:
                kept.append(line)
            within.pop()
            # An empty name stands for a part that is left out.
            continue
        if not match:
            continue
        begins = line.rstrip().endswith("{")
        known = fields.get(within[-1], {}) if within[-1] else {}
        is_known = match["name"] in known
        if is_known:
            kept.append(line)
        if begins:
            within.append(known[match["name"]] if is_known else "")
    return "".join(f"{line}\n" for line in kept)


def count_figures(text: str) -> int:
    """Return how many figures a text holds."""
    return len(re.findall(r"^\s*\w+: ", text, re.MULTILINE))


@cache
def read_message_fields(library: Path) -> Fields:
    """Return the fields of the messages that describe a GPU, as a library's own descriptions have them."""
    fields: Fields = {}
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        waiting, seen = [FILE], set[str]()
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            parts = _find_description(data, name)
            package = next((_text(value) for number, value in parts if number == _PACKAGE), "")
            for number, value in parts:
                if number == _MESSAGES and isinstance(value, memoryview):
                    fields.update(_read_message(value, f".{package}"))
                elif number == _DEPENDENCY:
                    waiting.append(_text(value))
    return fields


def _find_description(data: mmap.mmap, name: str) -> list[tuple[int, int | memoryview]]:
    """Return the fields of a file's description, which begins with its name, or nothing where there is none."""
    encoded = name.encode()
    mark = b"\x0a" + bytes([len(encoded)]) + encoded
    at = data.find(mark)
    while at >= 0:
        parts: list[tuple[int, int | memoryview]] = []
        try:
            for number, value in read_fields(memoryview(data[at : at + _LONGEST])):
                if number not in _KNOWN or (number == _NAME and parts):
                    break
                parts.append((number, value))
        except (EOFError, ValueError):
            pass
        if any(number == _MESSAGES for number, _ in parts):
            return parts
        at = data.find(mark, at + 1)
    return []


def _read_message(data: memoryview, scope: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield a message and those that it holds, each by its full name with its fields."""
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
