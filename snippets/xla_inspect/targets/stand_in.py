"""The bytes of a shared library for Linux on x86-64 whose functions only report an error, made without a compiler.

The format is ELF: https://gabi.xinuos.com and the supplement for x86-64, https://gitlab.com/x86-psABIs/x86-64-ABI. Its
three segments are tables that are only read, code that is only read and executed, and data that is never executed.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

RECORD = "xla_inspect_last_call"
"""The library's only variable: the address of a 32-bit number that a called function sets to its own, or 0."""

_PAGE = 4096
_CODE = 32  # bytes for each function
_HEADERS = 64 + 5 * 56
_READ, _EXECUTE, _WRITE = 4, 1, 2


@dataclass(frozen=True, slots=True)
class Function:
    """A function of a library.

    Attributes:
        name: Its symbol.
        version: The version of the symbol, or an empty string.
        result: Its status, or a text to whose address it returns a pointer.
    """

    name: str
    version: str
    result: int | str


def write_library(name: str, functions: list[Function], first: int) -> bytes:
    """Return a library.

    Args:
        name: The name by which other libraries need it (`DT_SONAME`).
        functions: The functions.
        first: The number of the first function; the others count on from it.
    """
    versions = list(dict.fromkeys(function.version for function in functions if function.version))
    strings = _Strings()
    names = [strings.add(text) for text in (name, RECORD, *versions, *(function.name for function in functions))]
    results = [strings.add(item.result) if isinstance(item.result, str) else None for item in functions]
    count = 2 + len(functions)
    parts: list[bytes] = [b"" for _ in range(5)]
    sizes = (4 * (3 + count), 24 * count, 2 * count, 28 * (1 + len(versions)), len(strings.data))
    starts = [_round_up(_HEADERS + sum(sizes[:at]) + 8 * at, 8) for at in range(len(sizes))]
    code = _round_up(starts[-1] + sizes[-1], _PAGE)
    data = _round_up(code + max(1, _CODE * len(functions)), _PAGE)
    # The variable comes first in the data, before the dynamic section.
    addresses = [data, *(code + _CODE * at for at in range(len(functions)))]
    symbols = [(names[1], 0x11, 8), *((at, 0x12, _CODE) for at in names[2 + len(versions) :])]
    # One bucket holds all symbols as a chain from the last to the first.
    parts[0] = struct.pack(f"<{3 + count}I", 1, count, count - 1, 0, *range(count - 1))
    parts[1] = bytes(24) + b"".join(
        struct.pack("<IBBHQQ", at, kind, 0, 1, address, size)
        for (at, kind, size), address in zip(symbols, addresses, strict=True)
    )
    places = [names[0], *names[2 : 2 + len(versions)]]
    numbers = {version: 2 + at for at, version in enumerate(versions)} | {"": 1}
    parts[2] = struct.pack(f"<{count}H", 0, 1, *(numbers[function.version] for function in functions))
    parts[3] = b"".join(
        struct.pack("<4H5I", 1, int(not at), 1 + at, 1, _hash(text), 20, 28 if at < len(versions) else 0, place, 0)
        for at, (text, place) in enumerate(zip([name, *versions], places, strict=True))
    )
    parts[4] = strings.data
    dynamic = {14: names[0], 4: starts[0], 6: starts[1], 11: 24, 0x6FFFFFF0: starts[2], 0x6FFFFFFC: starts[3]}
    dynamic |= {0x6FFFFFFD: 1 + len(versions), 5: starts[4], 10: sizes[4], 0: 0}
    tables = [
        (_headers(starts[-1] + sizes[-1], code, _CODE * len(functions), data, 8 + 16 * len(dynamic)), 0),
        *zip(parts, starts, strict=True),
        *(
            (_write_code(address, first + at, item.result, data, starts[4] + (place or 0)), address)
            for at, (item, place, address) in enumerate(zip(functions, results, addresses[1:], strict=True))
        ),
        (bytes(8) + b"".join(struct.pack("<2Q", *entry) for entry in dynamic.items()), data),
    ]
    image = bytearray(data + 8 + 16 * len(dynamic))
    for part, start in tables:
        image[start : start + len(part)] = part
    return bytes(image)


class _Strings:
    """A table of texts that end with a zero byte."""

    def __init__(self) -> None:
        self.data = b"\0"

    def add(self, text: str) -> int:
        """Add a text, and return its place in the table."""
        place = len(self.data)
        self.data += text.encode() + b"\0"
        return place


def _headers(tables: int, code: int, code_size: int, data: int, data_size: int) -> bytes:
    """Return the header of the file and those of its segments; addresses equal places in the file."""
    header = struct.pack("<4s5B7x2HI3QI6H", b"\x7fELF", 2, 1, 1, 0, 0, 3, 62, 1, 0, 64, 0, 0, 64, 56, 5, 64, 0, 0)
    segments = (
        (1, _READ, 0, tables, _PAGE),
        (1, _READ | _EXECUTE, code, code_size, _PAGE),
        (1, _READ | _WRITE, data, data_size, _PAGE),
        (2, _READ | _WRITE, data + 8, data_size - 8, 8),  # the dynamic section
        (0x6474E551, _READ | _WRITE, 0, 0, 16),  # the stack, which is not executable either
    )
    return header + b"".join(
        struct.pack("<2I6Q", kind, flags, start, start, start, size, size, unit)
        for kind, flags, start, size, unit in segments
    )


def _write_code(address: int, number: int, result: int | str, record: int, text: int) -> bytes:
    """Return the code of a function at an address: it notes its number, if there is a place for it, and returns."""
    note = b"\x48\x8b\x05" + struct.pack("<i", record - address - 7)  # mov rax, [record]
    note += b"\x48\x85\xc0" + b"\x74\x06"  # test rax, rax; jz over the next instruction
    note += b"\xc7\x00" + struct.pack("<I", number)  # mov dword [rax], number
    if isinstance(result, str):
        return note + b"\x48\x8d\x05" + struct.pack("<i", text - address - len(note) - 7) + b"\xc3"  # lea rax, [text]
    return note + b"\xb8" + struct.pack("<i", result) + b"\xc3"  # mov eax, result; ret


def _hash(text: str) -> int:
    """Return ELF's hash of a name."""
    value = 0
    for byte in text.encode():
        value = (value << 4) + byte
        value ^= (value & 0xF0000000) >> 24
        value &= 0x0FFFFFFF
    return value


def _round_up(number: int, unit: int) -> int:
    return -(-number // unit) * unit
