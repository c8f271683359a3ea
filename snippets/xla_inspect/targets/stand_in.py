"""The bytes of a shared library for Linux on x86-64 whose functions do nothing, made without a compiler.

The format is ELF: https://gabi.xinuos.com and the supplement for x86-64, https://gitlab.com/x86-psABIs/x86-64-ABI. Only
its code can be executed, only its data can be written, and nothing can be both.
"""

from __future__ import annotations

import struct
from itertools import accumulate
from typing import NamedTuple

RECORD = "xla_inspect_last_call"
"""The library's only variable: the address of a 32-bit number that a called function sets to its own, or 0."""

_PAGE, _CODE = 4096, 32  # bytes of a page, and of the code of a function
_EXECUTE, _WRITE, _READ = 1, 2, 4


class Function(NamedTuple):
    """A function of a library.

    Attributes:
        name: Its symbol.
        version: The version of the symbol, or an empty string.
        status: Its result, or None for a pointer to the library's name.
    """

    name: str
    version: str
    status: int | None


def write_library(name: str, functions: list[Function], first: int) -> bytes:
    """Return a library.

    Args:
        name: The name by which other libraries need it (`DT_SONAME`).
        functions: The functions.
        first: The number of the first function; the others count on from it.
    """
    # Headers, code, data and tables follow each other, and an address is a place in the file.
    data = _PAGE + _round_up(_CODE * len(functions))
    tables = data + _PAGE
    versions = list(dict.fromkeys(function.version for function in functions if function.version))
    texts = [name, RECORD, *versions, *(function.name for function in functions)]
    places = dict(zip(texts, accumulate((len(text) + 1 for text in texts), initial=1), strict=False))
    numbers = {"": 1} | {version: number for number, version in enumerate(versions, start=2)}
    symbols = [bytes(24), struct.pack("<IBBHQQ", places[RECORD], 0x11, 0, 1, data, 8)]
    symbols += [
        struct.pack("<IBBHQQ", places[function.name], 0x12, 0, 1, _PAGE + _CODE * at, _CODE)
        for at, function in enumerate(functions)
    ]
    definitions = [
        struct.pack(
            "<4H5I", 1, number == 1, number, 1, _hash(text), 20, 28 * (number <= len(versions)), places[text], 0
        )
        for number, text in enumerate([name, *versions], start=1)
    ]
    parts = [
        b"\0" + b"".join(text.encode() + b"\0" for text in texts),
        b"".join(symbols),
        # One bucket holds all symbols, as a chain from the last to the first.
        struct.pack(f"<{len(symbols) + 3}I", 1, len(symbols), len(symbols) - 1, 0, *range(len(symbols) - 1)),
        struct.pack(f"<{len(symbols)}H", 0, 1, *(numbers[function.version] for function in functions)),
        b"".join(definitions),
    ]
    parts = [part.ljust(-(-len(part) // 8) * 8, b"\0") for part in parts]
    starts = list(accumulate(map(len, parts), initial=tables))
    dynamic = {5: starts[0], 10: len(parts[0]), 6: starts[1], 11: 24, 4: starts[2], 0x6FFFFFF0: starts[3]}
    dynamic |= {0x6FFFFFFC: starts[4], 0x6FFFFFFD: len(definitions), 14: places[name], 0: 0}
    code = b"".join(
        _write_code(_PAGE + _CODE * at, first + at, function.status, data, tables + places[name]).ljust(_CODE, b"\0")
        for at, function in enumerate(functions)
    )
    variables = bytes(8) + b"".join(struct.pack("<2Q", *entry) for entry in dynamic.items())
    segments = [
        (1, _READ, 0, 64 + 6 * 56),
        (1, _READ | _EXECUTE, _PAGE, len(code)),
        (1, _READ | _WRITE, data, len(variables)),
        (1, _READ, tables, starts[-1] - tables),
        (2, _READ | _WRITE, data + 8, len(variables) - 8),  # the dynamic section
        (0x6474E551, _READ | _WRITE, 0, 0),  # the stack, on which no code runs either
    ]
    headers = struct.pack(
        "<4s5B7x2HI3QI6H", b"\x7fELF", 2, 1, 1, 0, 0, 3, 62, 1, 0, 64, 0, 0, 64, 56, len(segments), 64, 0, 0
    )
    headers += b"".join(
        struct.pack("<2I6Q", kind, flags, start, start, start, size, size, _PAGE if kind == 1 else 8)
        for kind, flags, start, size in segments
    )
    return (
        headers.ljust(_PAGE, b"\0") + code.ljust(data - _PAGE, b"\0") + variables.ljust(_PAGE, b"\0") + b"".join(parts)
    )


def _write_code(address: int, number: int, status: int | None, record: int, text: int) -> bytes:
    """Return the code of a function at an address: it notes its number, if there is a place for it, and returns."""
    note = b"\x48\x8b\x05" + struct.pack("<i", record - address - 7)  # mov rax, [record]
    note += b"\x48\x85\xc0" + b"\x74\x06"  # test rax, rax; jz over the next instruction
    note += b"\xc7\x00" + struct.pack("<I", number)  # mov dword [rax], number
    if status is None:
        return note + b"\x48\x8d\x05" + struct.pack("<i", text - address - len(note) - 7) + b"\xc3"  # lea rax, [text]
    return note + b"\xb8" + struct.pack("<i", status) + b"\xc3"  # mov eax, status; ret


def _hash(text: str) -> int:
    """Return ELF's hash of a name."""
    value = 0
    for byte in text.encode():
        value = (value << 4) + byte
        value = (value ^ ((value & 0xF0000000) >> 24)) & 0x0FFFFFFF
    return value


def _round_up(number: int) -> int:
    return -(-number // _PAGE) * _PAGE
