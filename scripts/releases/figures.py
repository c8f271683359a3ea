"""The device figures of GPUs in the form that each release of the CUDA plugin takes."""

from __future__ import annotations

import mmap
import re
from typing import TYPE_CHECKING

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from google.protobuf.message import DecodeError

from xla_inspect.capture.targets import SPECS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE = "xla/stream_executor/device_description.proto"
MESSAGE = "stream_executor.GpuTargetConfigProto"

# A serialized FileDescriptorProto begins with its name: field 1, length, a path that ends in `.proto`.
_START = re.compile(rb"\x0a([\x07-\x7f])([\w/\-.+]+?\.proto)")
_LENGTH_DELIMITED, _VARINT = 2, 0
_FIELDS = range(1, 15)


def adapt(plugin: Path) -> tuple[dict[str, str], dict[str, int]]:
    """Return the figures of each GPU as a plugin's own message, and how many figures that leaves out.

    A plugin refuses a figure that it has no field for. It holds the description of its messages, which says so.

    Args:
        plugin: The plugin's shared library.
    """
    files = {found.name: found for found in read_descriptors(plugin)}
    pool = descriptor_pool.DescriptorPool()
    added: set[str] = set()

    def add(name: str) -> None:
        if name not in added:
            added.add(name)
            for needed in files[name].dependency:
                add(needed)
            pool.Add(files[name])

    add(FILE)
    config = message_factory.GetMessageClass(pool.FindMessageTypeByName(MESSAGE))
    adapted, left_out = {}, {}
    for path in sorted(SPECS.glob("*.txtpb")):
        text = path.read_text(encoding="utf-8")
        message = text_format.Parse(text, config(), allow_unknown_field=True)
        adapted[path.stem] = text_format.MessageToString(message)
        left_out[path.stem] = _count(text) - _count(adapted[path.stem])
    return adapted, left_out


def _count(text: str) -> int:
    """Return how many figures a message's text holds."""
    return len(re.findall(r"^\s*\w+: ", text, re.MULTILINE))


def read_descriptors(library: Path) -> Iterator[descriptor_pb2.FileDescriptorProto]:
    """Yield the descriptions of messages that a library holds."""
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for found in _START.finditer(data):
            if found[1][0] != len(found[2]):
                continue
            try:
                yield descriptor_pb2.FileDescriptorProto.FromString(data[found.start() : _end(data, found.start())])
            except DecodeError:
                continue


def _end(data: mmap.mmap, start: int) -> int:
    """Return where the message that starts here stops making sense as a FileDescriptorProto."""
    position = start
    while position < len(data):
        tag, after = _varint(data, position)
        number, kind = tag >> 3, tag & 7
        if number not in _FIELDS or (number == 1 and position != start):
            break
        value, after = _varint(data, after)
        if kind == _LENGTH_DELIMITED:
            after += value
        elif kind != _VARINT:
            break
        position = after
    return position


def _varint(data: mmap.mmap, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:  # noqa: PLR2004 - the highest bit says that more follows
            return value, position
        shift += 7
