"""Facts about PJRT plugins: the clients behind devices, and the function table that a plugin's library returns."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, NamedTuple

from xla_inspect.report import markdown, title

if TYPE_CHECKING:
    from collections.abc import Mapping

    import jax


def show_clients(devices: Mapping[str, jax.Device]) -> str:
    """Return an HTML table of the PJRT client behind one device of each target."""
    rows = [
        (
            title(target),
            markdown.code(device.client.platform),
            markdown.code(device.client.runtime_type),
            markdown.escape(device.device_kind),
            ", ".join(markdown.code(memory.kind) for memory in device.addressable_memories()) or "none described",
        )
        for target, device in devices.items()
    ]
    return markdown.cards(["target", "platform", "client", "device", "memory spaces"], rows)


class PjrtTable(NamedTuple):
    """The header of the function table that a plugin's library returns.

    Attributes:
        version: The version of the interface.
        version_bytes: The size of the version structure, in bytes.
        functions: The number of function pointers after the header.
        rest: The bytes after the last whole pointer.
    """

    version: tuple[int, int]
    version_bytes: int
    functions: int
    rest: int


def read_pjrt_table(path: str) -> PjrtTable:
    """Load the plugin's library at a path, and return the header of its function table."""
    library = ctypes.CDLL(path)
    # By default, ctypes would truncate the returned pointer to an `int`.
    library.GetPjrtApi.restype = ctypes.c_void_p
    address = library.GetPjrtApi()
    word = ctypes.sizeof(ctypes.c_size_t)
    # `PJRT_Api` starts with its size and a pointer to extensions; its version structure starts with the same two
    # fields.
    size, _, version_bytes, _ = (ctypes.c_size_t * 4).from_address(address)
    major, minor = (ctypes.c_int * 2).from_address(address + 4 * word)
    functions, rest = divmod(size - 2 * word - version_bytes, ctypes.sizeof(ctypes.c_void_p))
    return PjrtTable((major, minor), version_bytes, functions, rest)
