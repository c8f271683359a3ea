"""What an export, a serialized executable and an entry of the persistent cache hold, byte by byte."""

from __future__ import annotations

import importlib
import sys
import tempfile
from pathlib import Path

import jax
from jax import export
from jax.experimental import serialize_executable
from jax.experimental.compilation_cache import compilation_cache

from programs import gelu

OBJECT = {"darwin": b"\xcf\xfa\xed\xfe"}.get(sys.platform, b"\x7fELF")  # how a file of machine code begins
MARKS = {"StableHLO": b"StableHLO_v", "machine code": OBJECT, "the name `erf`": b"erf"}
PACKING = "compression.zstd" if sys.version_info >= (3, 14) else "zlib"


def exported() -> bytes:
    """Return the program as `jax.export` writes it."""
    return bytes(export.export(jax.jit(gelu.gelu))(*gelu.EXAMPLE).serialize())


def executable() -> bytes:
    """Return the compiled program as `serialize_executable` writes it."""
    compiled = jax.jit(gelu.gelu).lower(*gelu.EXAMPLE).compile()
    payload: bytes = serialize_executable.serialize(compiled)[0]
    return payload


def cached() -> bytes:
    """Return the compiled program as the persistent cache keeps it, unpacked."""
    settings = {
        "jax_enable_compilation_cache": True,
        "jax_persistent_cache_min_compile_time_secs": 0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {name: getattr(jax.config, name) for name in (*settings, "jax_compilation_cache_dir")}

    def fresh(x: jax.Array) -> jax.Array:
        return gelu.gelu(x)  # a new function: what was compiled in this process is not compiled again

    with tempfile.TemporaryDirectory() as folder:
        try:
            for name, value in {**settings, "jax_compilation_cache_dir": folder}.items():
                jax.config.update(name, value)
            compilation_cache.reset_cache()
            jax.jit(fresh).lower(*gelu.EXAMPLE).compile()
            [entry] = Path(folder).glob("*-cache")
            unpacked: bytes = importlib.import_module(PACKING).decompress(entry.read_bytes())
            return unpacked
        finally:
            for name, value in before.items():
                jax.config.update(name, value)
            compilation_cache.reset_cache()


def three_files() -> dict[str, set[str]]:
    """Return, for each kind of file, which marks are found in it."""
    files = {"export": exported(), "serialized executable": executable(), "persistent cache": cached()}
    return {name: {said for said, mark in MARKS.items() if mark in data} for name, data in files.items()}


if __name__ == "__main__":
    print(three_files())
