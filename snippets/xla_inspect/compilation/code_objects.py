"""A reader of the code objects (ELF files) of an AMD GPU's kernels in a serialized executable, and of their metadata.

XLA serializes an executable as Riegeli records, which may hold such records in turn, compressed with Snappy:
https://github.com/google/riegeli/blob/master/doc/riegeli_records_file_format.md
https://github.com/google/snappy/blob/main/format_description.txt
The compiler adds the metadata of each kernel, such as its registers, as a note in MessagePack:
https://llvm.org/docs/AMDGPUUsage.html#code-object-v5-metadata
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xla_inspect.wire import read_varint

if TYPE_CHECKING:
    from collections.abc import Iterator

_RECORDS = bytes.fromhex("83af70d10d884a3f")
_BLOCK, _BLOCK_HEADER, _CHUNK_HEADER = 1 << 16, 24, 40

# The class, the byte order and the version of the file, and the operating system of an AMD GPU (ELFOSABI_AMDGPU_HSA).
_ELF = re.compile(rb"\x7fELF\x02\x01\x01\x40")

# A number in MessagePack: one byte below 128, or a first byte that tells how many bytes follow.
_NUMBER = rb"([\x00-\x7f]|\xcc.|\xcd..|\xce.{4})"
_SYMBOL = re.compile(rb"\xa7\.symbol(?:[\xa0-\xbf]|\xd9.|\xda..)([^\x00-\x20]+?)\.kd", re.DOTALL)
_TARGET = re.compile(rb"gfx\w+(?::\w+[+-])*")

FIELDS = {
    ".vgpr_count": (1, "VGPRs (registers with a number for each thread)"),
    ".agpr_count": (1, "of them are AGPRs (registers for the results of MFMA instructions)"),
    ".sgpr_count": (1, "SGPRs (registers with one number for the wave)"),
    ".vgpr_spill_count": (4, "bytes stored for lack of VGPRs"),
    ".sgpr_spill_count": (4, "bytes moved to VGPRs or stored for lack of SGPRs"),
    ".group_segment_fixed_size": (1, "bytes of LDS (memory of a workgroup) in the code; a launch may request more"),
    ".private_segment_fixed_size": (1, "bytes of scratch memory for a thread"),
    ".wavefront_size": (1, "threads in a wave"),
    ".max_flat_workgroup_size": (1, "threads in a workgroup at most"),
}
"""The fields of a kernel's metadata above its listing, each with a factor and the words after the number.

The numbers of spills are those of the stored registers, of four bytes each.
"""


def find_code_objects(serialized: bytes) -> Iterator[bytes]:
    """Yield the code objects in a serialized executable, each with the bytes after it.

    Raises:
        EOFError: The data is cut off.
        ValueError: The records are compressed by another method.
    """
    start = serialized.find(_RECORDS)
    if start < 0:
        yield from (serialized[match.start() :] for match in _ELF.finditer(serialized))
        return
    # Each block of 64 KiB begins with a header, which may interrupt a record.
    blocks = range(start, len(serialized), _BLOCK)
    data = b"".join(serialized[at + _BLOCK_HEADER : at + _BLOCK] for at in blocks)
    while len(data) >= _CHUNK_HEADER:
        end = _CHUNK_HEADER + int.from_bytes(data[8:16], "little")
        # The other kinds of chunk hold no records: the file's signature, its metadata and padding.
        if data[24:25] == b"r":
            for record in _split(data[_CHUNK_HEADER:end]):
                yield from find_code_objects(record)
        data = data[end:]


def _split(chunk: bytes) -> Iterator[bytes]:
    """Yield the records of a chunk, in which the sizes of all records come first."""
    length, at = read_varint(chunk, 1)
    sizes, values = chunk[at : at + length], chunk[at + length :]
    if chunk[0] == ord("s"):
        # The size of the unpacked data comes twice: Riegeli writes it in front of what Snappy writes.
        sizes, values = (unpack_snappy(part[read_varint(part, 0)[1] :]) for part in (sizes, values))
    elif chunk[0]:
        message = f"the records are compressed by an unknown method, {chunk[0]}"
        raise ValueError(message)
    at = 0
    while at < len(sizes):
        size, at = read_varint(sizes, at)
        yield values[:size]
        values = values[size:]


def unpack_snappy(data: bytes) -> bytes:
    """Return data that Snappy compressed; raise `EOFError` if it is cut off."""
    size, at = read_varint(data, 0)
    out = bytearray()
    while at < len(data):
        tag, at = data[at], at + 1
        length, kind = tag >> 2, tag & 3
        # The lengths of literals from 60 on mean that one to four bytes with the length follow.
        more = (max(length - 59, 0), 1, 2, 4)[kind]
        number, at = int.from_bytes(data[at : at + more], "little"), at + more
        if not kind:
            length = (number if more else length) + 1
            out += data[at : at + length]
            at += length
            continue
        offset, length = (number | (tag >> 5) << 8, (length & 7) + 4) if kind == 1 else (number, length + 1)
        if not 0 < offset <= len(out):
            raise EOFError
        # A copy may overlap with the bytes that it writes, and then repeats them.
        start = len(out) - offset
        out += (out[start : start + length] * -(-length // offset))[:length]
    if len(out) != size:
        raise EOFError
    return bytes(out)


def describe_kernels(note: bytes) -> dict[str, str]:
    """Return the metadata of the kernels in a code object as lines of comments, by kernel.

    Args:
        note: The contents of the section `.note`. Each kernel has all of its fields once, in the order of the kernels.
    """
    target = _TARGET.search(note)
    lines = [f"; {target[0].decode() if target else 'unknown GPU'}\n"] * len(_SYMBOL.findall(note))
    for field, (factor, words) in FIELDS.items():
        # MessagePack stores the length of a short text in the five low bits of the byte before it.
        numbers = re.findall(bytes([0xA0 | len(field)]) + re.escape(field.encode()) + _NUMBER, note, re.DOTALL)
        for at, number in enumerate(numbers):
            lines[at] += f"; {factor * int.from_bytes(number[len(number) > 1 :], 'big')} {words}\n"
    return {name.decode(): text for name, text in zip(_SYMBOL.findall(note), lines, strict=True)}
