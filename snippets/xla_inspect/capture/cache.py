"""Keep captures on disk by content: what goes into a compile is the key to what comes out of it."""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import os
import re
import tempfile
import time
import zlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect.capture import folders
from xla_inspect.capture.targets import find_version, name_isa
from xla_inspect.errors import InspectError
from xla_inspect.hlo import storage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect.capture.lowering import Lowered
    from xla_inspect.capture.targets import Target
    from xla_inspect.hlo.record import Capture

LIMIT = 512 * 2**20
"""Bytes that the cache may take on disk."""

ABANDONED = 3600
"""Seconds after which an unfinished file is taken for that of a process that died."""

SUFFIX = ".gz"

# The packages that turn object files into assembly.
DISASSEMBLERS = ("capstone", "pyelftools")

# Flags of the environment that a capture sets itself, or that say where to dump and how many devices to simulate.
OVERRULED = re.compile(r"--xla_(?:dump_\w+|cpu_max_isa|force_host_platform_device_count)(?:=|$)")

log = logging.getLogger(__name__)


def make_key(lowered: Lowered, target: Target, options: Mapping[str, str | int | bool]) -> str:
    """Return the key of a compile: a hash of all that its result depends on, and of nothing else."""
    on_cpu = target.kind == "cpu"
    return hash_content(
        {
            "stablehlo": lowered.stablehlo_locations,
            "jaxpr": lowered.jaxpr,
            "target": target.name,
            "options": dict(sorted(options.items())),
            "flags": ambient_flags(options),
            "versions": dict(sorted(target.versions.items())),
            "disassemblers": {name: find_version(name) for name in DISASSEMBLERS} if on_cpu else {},
            "isa": name_isa() if on_cpu else "",
        }
    )


def hash_content(content: Mapping[str, object]) -> str:
    """Return a key for what is made from `content`, which JSON can hold, by this package's own code."""
    return hashlib.sha256(json.dumps({**content, "code": hash_code()}).encode()).hexdigest()


def ambient_flags(options: Mapping[str, str | int | bool]) -> list[str]:
    """Return the XLA flags of the environment that reach the compile, those left out that an option overrules."""
    given = (os.environ.get("XLA_FLAGS", "") + " " + os.environ.get("LIBTPU_INIT_ARGS", "")).split()
    named = {flag: flag.lstrip("-").partition("=")[0] for flag in given}
    return sorted(flag for flag, name in named.items() if name not in options and not OVERRULED.match(flag))


@cache
def hash_code() -> str:
    """Return a hash of the code and data that turn a compile into a capture."""
    package = Path(__file__).parent.parent
    files = [
        *sorted((package / "capture").rglob("*.py")),
        *sorted((package / "capture").rglob("*.txtpb")),
        *(package / "hlo" / name for name in ("frame.py", "record.py", "storage.py", "opcodes.py")),
    ]
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def load(key: str) -> Capture | None:
    """Return the capture of a key, its long parts to be read when they are asked for, or None where there is none."""
    data = load_bytes(key)
    try:
        return None if data is None else storage.unpack(data, identity=key)
    except InspectError:
        return None


def recall(content: Mapping[str, object], make: Callable[[], str]) -> str:
    """Return the text that `make` makes, kept under a key of what it depends on: `content`, which JSON can hold."""
    key = hash_content(content)
    data = load_bytes(key)
    if data is not None:
        try:
            return gzip.decompress(data).decode()
        except (OSError, EOFError, zlib.error, UnicodeDecodeError):
            # The file is not whole, so it is made again.
            pass
    text = make()
    store_bytes(key, gzip.compress(text.encode(), compresslevel=3, mtime=0))
    return text


def load_bytes(key: str) -> bytes | None:
    """Return the file of a key, or None where there is none."""
    folder = folders.find_cache()
    if folder is None:
        return None
    path = folder / f"{key}{SUFFIX}"
    try:
        found = path.read_bytes()
        os.utime(path)
    except OSError:
        return None
    return found


def store(key: str, capture: Capture) -> None:
    """Keep a capture under a key."""
    store_bytes(key, storage.pack(capture))


def store_bytes(key: str, data: bytes) -> None:
    """Write the file of a key: the whole or none, whoever else writes and whenever this process ends."""
    folder = folders.find_cache()
    if folder is None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(unfinished).replace(folder / f"{key}{SUFFIX}")
        except BaseException:
            Path(unfinished).unlink(missing_ok=True)
            raise
        evict(folder, LIMIT)
    except OSError as error:
        log.warning("the capture cache cannot be written (%s); set XLA_INSPECT_CACHE to a folder, or to `off`", error)


def evict(folder: Path, limit: int) -> None:
    """Remove what was not used for longest until the cache takes at most `limit` bytes, and what died unfinished."""
    entries = []
    for path in folder.iterdir():
        try:
            status = path.stat()
        except OSError:
            # Another process removed it.
            continue
        if path.name.endswith(SUFFIX):
            entries.append((status.st_mtime, status.st_size, path))
        elif path.name.endswith(".tmp") and time.time() - status.st_mtime > ABANDONED:
            path.unlink(missing_ok=True)
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries, key=lambda entry: (entry[0], entry[2].name)):
        if total <= limit:
            break
        path.unlink(missing_ok=True)
        total -= size
