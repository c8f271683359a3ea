"""An on-disk cache of captures, keyed by a hash of everything that the compile depends on."""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import os
import re
import zlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect import folders
from xla_inspect import store as files
from xla_inspect.captured import pack, unpack
from xla_inspect.code_digest import hash_dependencies
from xla_inspect.compilation.object_code import DISASSEMBLERS
from xla_inspect.errors import InspectError
from xla_inspect.targets import find_version, name_isa

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect.captured import Capture
    from xla_inspect.compilation.program_stages import Lowered
    from xla_inspect.targets import Target

LIMIT = 512 * 2**20
"""The cache's size limit in bytes; each process that writes may exceed it by a 32nd."""

SUFFIX = ".gz"

# Flags of the environment that a capture sets itself, or that say where to dump and how many devices to simulate.
OVERRULED = re.compile(r"--xla_(?:dump_\w+|cpu_max_isa|force_host_platform_device_count)(?:=|$)")

log = logging.getLogger(__name__)

_written: dict[Path, int] = {}
"""The bytes that this process wrote to each folder since it last measured the folder's size."""


def make_key(  # noqa: PLR0913 - all that it depends on
    lowered: Lowered,
    target: Target,
    options: Mapping[str, str | int | bool],
    *,
    passes: bool = True,
    timed: bool = True,
    code: bool = True,
) -> str:
    """Return the cache key of a compile: a hash of all inputs and of the requested parts of the capture."""
    on_cpu = target.kind == "cpu"
    return hash_content(
        {
            # The text with locations is in the key, because captures store the locations too.
            "stablehlo": lowered.stablehlo_locations,
            # The texts omit large literals, so without this hash two programs that differ only in them would share a
            # key.
            **({"literals": lowered.literals} if lowered.literals else {}),
            "jaxpr": lowered.jaxpr,
            "target": target.name,
            "options": dict(sorted(options.items())),
            "flags": ambient_flags(options),
            "versions": dict(sorted(target.versions.items())),
            "disassemblers": {name: find_version(name) for name in DISASSEMBLERS.get(target.platform, ())},
            # The CPU compiler takes its instruction set from the environment, so no option has it.
            "isa": name_isa() if on_cpu else "",
            **({} if passes else {"passes": False}),
            **({} if timed else {"timed": False}),
            **({} if code else {"code": False}),
        }
    )


def hash_content(content: Mapping[str, object]) -> str:
    """Return a cache key: a hash of `content`, which must be JSON-serializable, and of this package's code."""
    return hashlib.sha256(json.dumps({**content, "code": hash_code()}).encode()).hexdigest()


def ambient_flags(options: Mapping[str, str | int | bool]) -> list[str]:
    """Return the XLA flags from the environment that affect the compile, without those that an option overrides."""
    flags = (os.environ.get("XLA_FLAGS", "") + " " + os.environ.get("LIBTPU_INIT_ARGS", "")).split()
    names = {flag: flag.lstrip("-").partition("=")[0] for flag in flags}
    return sorted(flag for flag, name in names.items() if name not in options and not OVERRULED.match(flag))


@cache
def hash_code(folder: Path = Path(__file__).parent) -> str:
    """Return a hash of the code and data that turn a compile into a capture: `folder`'s modules and dependencies."""
    return hash_dependencies(sorted(folder.glob("*.py")), folder.parent)


def load_cached(key: str) -> Capture | None:
    """Return the capture stored under a key, with its long parts loaded on demand, or None if it is not cached.

    A file that is damaged or holds the capture of another key counts as missing, and is replaced by the next store.
    """
    data = load_bytes(key)
    if data is None:
        return None
    try:
        capture = unpack(data)
    except InspectError as error:
        _pass_over(key, str(error))
        return None
    if capture.identity != key:
        _pass_over(key, "it holds another capture")
        return None
    return capture


def _pass_over(key: str, reason: str) -> None:
    log.info("%s%s of the capture cache is made again: %s", key, SUFFIX, reason)


def recall_text(content: Mapping[str, object], make: Callable[[], str]) -> str:
    """Return the cached result of `make` for `content`, its JSON-serializable inputs, calling `make` if necessary."""
    key = hash_content(content)
    text = _load_text(key)
    if text is not None:
        return text
    with claim(key) as claimed:
        # Another process may have stored the text while this one waited for the claim.
        text = _load_text(key) if claimed.waited else None
        if text is None:
            text = make()
            # Without a time in the gzip header, equal texts always give equal files.
            store_bytes(key, gzip.compress(f"{key}\n{text}".encode(), compresslevel=3, mtime=0))
    return text


def _load_text(key: str) -> str | None:
    data = load_bytes(key)
    if data is None:
        return None
    try:
        stored_key, _, text = gzip.decompress(data).decode().partition("\n")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        _pass_over(key, f"it is damaged ({type(error).__name__}: {error})")
        return None
    if stored_key != key:
        _pass_over(key, "it holds another text")
        return None
    return text


def load_bytes(key: str) -> bytes | None:
    """Return the contents of the file stored under a key, or None if there is no such file or no cache."""
    folder = folders.find_cache()
    return files.read_stored(folder / f"{key}{SUFFIX}") if folder else None


def claim(key: str) -> files.Claim:
    """Return the right to create the file of a key, after waiting up to two minutes while another process has it."""
    folder = folders.find_cache()
    return files.Claim(folder / f"{key}{SUFFIX}" if folder else None)


def store(key: str, capture: Capture) -> None:
    """Store a capture under a key, which becomes the stored capture's identity; do nothing without a cache folder."""
    if folders.find_cache() is not None:
        store_bytes(key, pack(capture.retold(identity=key)))


def store_bytes(key: str, data: bytes) -> None:
    """Write the file of a key atomically, and evict old files beyond `LIMIT` from time to time.

    Without a cache folder, this does nothing. A failed write is only logged.
    """
    folder = folders.find_cache()
    if folder is None:
        return
    try:
        files.write_whole(folder / f"{key}{SUFFIX}", data)
        # The first write counts as a full cache, so that every process measures the folder at least once.
        _written[folder] = _written.get(folder, LIMIT) + len(data)
        if _written[folder] > LIMIT / 32:  # each look asks for the size of every file
            _written[folder] = 0
            files.evict(folder, f"*{SUFFIX}", size=LIMIT)
    except OSError as error:
        _say_once(folder, error.strerror or type(error).__name__)


@cache
def _say_once(folder: Path, reason: str) -> None:
    """Log that a cache folder cannot be written, once and as information, because captures are correct without it."""
    log.info(
        "the capture cache %s cannot be written (%s), so every program is compiled; "
        "set XLA_INSPECT_CACHE to a folder, or to `off`",
        folder,
        reason,
    )
