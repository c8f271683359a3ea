"""The protobuf messages of a compiler, from the descriptors in its shared library."""

from __future__ import annotations

import mmap
import re
from typing import TYPE_CHECKING, Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# A serialized FileDescriptorProto begins with its name: field 1, length, a path that ends in `.proto`.
_START = re.compile(rb"\x0a([\x07-\x7f])([\w/\-.+]+?\.proto)")
_LENGTH_DELIMITED, _VARINT = 2, 0
_FIELDS = range(1, 15)


def find_message(library: Path, file: str, message: str) -> Any:  # noqa: ANN401 - the class is built at run time
    """Return the class of a message.

    Args:
        library: The shared library.
        file: The `.proto` file that describes it, as the library names it.
        message: The message's full name.

    Raises:
        KeyError: The library describes no such file, or the file no such message.
    """
    files = {description.name: description for description in read_descriptors(library)}
    pool = descriptor_pool.DescriptorPool()
    messages_added: set[str] = set()

    def add(name: str) -> None:
        if name not in messages_added:
            messages_added.add(name)
            for dependency in files[name].dependency:
                add(dependency)
            pool.Add(files[name])

    add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(message))


def read_descriptors(library: Path) -> Iterator[descriptor_pb2.FileDescriptorProto]:
    """Yield the message descriptors in a library."""
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for match in _START.finditer(data):
            if match[1][0] != len(match[2]):
                continue
            try:
                yield descriptor_pb2.FileDescriptorProto.FromString(data[match.start() : _end(data, match.start())])
            except DecodeError:
                continue


def _end(data: mmap.mmap, start: int) -> int:
    """Return the end of the longest valid FileDescriptorProto that starts here."""
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
        if byte < 128:
            return value, position
        shift += 7
