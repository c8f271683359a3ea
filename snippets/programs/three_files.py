"""The bytes of an export, of a serialized executable, and of an entry of the persistent cache."""

from __future__ import annotations

import importlib
import sys

import jax
from jax import export
from jax.experimental import serialize_executable

from programs import gelu, persistent

OBJECT = {"darwin": b"\xcf\xfa\xed\xfe"}.get(sys.platform, b"\x7fELF")  # how a file of machine code begins
MARKS = {"StableHLO": b"StableHLO_v", "machine code": OBJECT, "the name `erf`": b"erf"}
PACKING = "compression.zstd" if sys.version_info >= (3, 14) else "zlib"


def exported() -> bytes:
    """Return the bytes of the GELU as `jax.export` writes it."""
    return bytes(export.export(jax.jit(gelu.gelu))(*gelu.EXAMPLE).serialize())


def executable() -> bytes:
    """Return the bytes of the compiled GELU as `serialize_executable` writes it."""
    compiled = jax.jit(gelu.gelu).lower(*gelu.EXAMPLE).compile()
    payload: bytes = serialize_executable.serialize(compiled)[0]
    return payload


def cached() -> bytes:
    """Return the bytes of the persistent cache's entry for the compiled GELU, decompressed."""

    def fresh(x: jax.Array) -> jax.Array:
        return gelu.gelu(x)  # a new function: what was compiled in this process is not compiled again

    with persistent.fresh_cache() as folder:
        jax.jit(fresh).lower(*gelu.EXAMPLE).compile()
        [entry] = folder.glob("*-cache")
        unpacked: bytes = importlib.import_module(PACKING).decompress(entry.read_bytes())
        return unpacked


def three_files() -> dict[str, set[str]]:
    """Return for each kind of file the names of the `MARKS` that its bytes contain."""
    files = {"export": exported(), "serialized executable": executable(), "persistent cache": cached()}
    return {name: {said for said, mark in MARKS.items() if mark in data} for name, data in files.items()}


if __name__ == "__main__":
    print(three_files())
