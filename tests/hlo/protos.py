"""The compiler's own protobuf messages, rebuilt from the descriptors inside jaxlib; an oracle for tests only."""

from __future__ import annotations

import mmap
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jaxlib
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterator

# A serialized FileDescriptorProto begins with its name: field 1, length, a path that ends in `.proto`.
_START = re.compile(rb"\x0a([\x07-\x7f])([\w/\-.+]+?\.proto)")
_LENGTH_DELIMITED, _VARINT = 2, 0
_LAST_FIELD = 14


def _varint(data: mmap.mmap, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7


def _end(data: mmap.mmap, start: int) -> int:
    """Where the message that starts here stops making sense as a FileDescriptorProto."""
    position = start
    while position < len(data):
        tag, after = _varint(data, position)
        number, kind = tag >> 3, tag & 7
        if not 1 <= number <= _LAST_FIELD or (number == 1 and position != start):
            break
        value, after = _varint(data, after)
        if kind == _LENGTH_DELIMITED:
            after += value
        elif kind != _VARINT:
            break
        position = after
    return position


def _descriptors() -> Iterator[descriptor_pb2.FileDescriptorProto]:
    library = Path(jaxlib.__file__).parent / "libjax_common.so"
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for match in _START.finditer(data):
            if match.group(1)[0] != len(match.group(2)):
                continue
            try:
                yield descriptor_pb2.FileDescriptorProto.FromString(data[match.start() : _end(data, match.start())])
            except DecodeError:
                continue


@cache
def hlo_proto() -> Any:  # noqa: ANN401 - the class is built at run time
    """The message class `xla.HloProto` (a module, and its buffer assignment when there is one)."""
    files = {descriptor.name: descriptor for descriptor in _descriptors()}
    pool = descriptor_pool.DescriptorPool()
    added: set[str] = set()

    def add(name: str) -> None:
        if name not in added:
            added.add(name)
            for dependency in files[name].dependency:
                add(dependency)
            pool.Add(files[name])

    add("xla/service/hlo.proto")
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("xla.HloProto"))
