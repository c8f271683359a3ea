"""Keep captures on disk by content: what goes into a compile is the key to what comes out of it."""

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
from xla_inspect.closure import find_files, hash_files
from xla_inspect.compilation.object_code import DISASSEMBLERS
from xla_inspect.errors import InspectError
from xla_inspect.targets import find_version, name_isa

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect.captured import Capture
    from xla_inspect.compilation.program_stages import Lowered
    from xla_inspect.targets import Target

LIMIT = 512 * 2**20
"""Bytes that the cache may take on disk, and a 32nd more for each process that writes."""

SUFFIX = ".gz"

# Flags of the environment that a capture sets itself, or that say where to dump and how many devices to simulate.
OVERRULED = re.compile(r"--xla_(?:dump_\w+|cpu_max_isa|force_host_platform_device_count)(?:=|$)")

log = logging.getLogger(__name__)

_written: dict[Path, int] = {}
"""How many bytes this process wrote into a folder since it last looked how many there are."""


def make_key(  # noqa: PLR0913 - all that it depends on
    lowered: Lowered,
    target: Target,
    options: Mapping[str, str | int | bool],
    *,
    passes: bool = True,
    timed: bool = True,
    code: bool = True,
) -> str:
    """Return the key of a compile, with its passes and their times or without: a hash of all that it depends on."""
    on_cpu = target.kind == "cpu"
    return hash_content(
        {
            "stablehlo": lowered.stablehlo_locations,
            **({"literals": lowered.literals} if lowered.literals else {}),
            "jaxpr": lowered.jaxpr,
            "target": target.name,
            "options": dict(sorted(options.items())),
            "flags": ambient_flags(options),
            "versions": dict(sorted(target.versions.items())),
            "disassemblers": {name: find_version(name) for name in DISASSEMBLERS} if on_cpu else {},
            "isa": name_isa() if on_cpu else "",
            **({} if passes else {"passes": False}),
            **({} if timed else {"timed": False}),
            **({} if code else {"code": False}),
        }
    )


def hash_content(content: Mapping[str, object]) -> str:
    """Return a key for what is made from `content`, which JSON can hold, by this package's own code."""
    return hashlib.sha256(json.dumps({**content, "code": hash_code()}).encode()).hexdigest()


def ambient_flags(options: Mapping[str, str | int | bool]) -> list[str]:
    """Return the XLA flags of the environment that reach the compile, those left out that an option overrules."""
    flags = (os.environ.get("XLA_FLAGS", "") + " " + os.environ.get("LIBTPU_INIT_ARGS", "")).split()
    named = {flag: flag.lstrip("-").partition("=")[0] for flag in flags}
    return sorted(flag for flag, name in named.items() if name not in options and not OVERRULED.match(flag))


@cache
def hash_code(folder: Path = Path(__file__).parent) -> str:
    """Return a hash of the code and data that make a capture of a compile: this folder, and all that it depends on."""
    return hash_files(find_files(folder.glob("*.py"), {"xla_inspect": folder.parent}), folder.parent)


def load_cached(key: str) -> Capture | None:
    """Return the capture of a key, its long parts to be read when they are asked for, or None where there is none.

    A file that is damaged, or holds the capture of another key, is none: what is made anew takes its place.
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
    """Return the text that `make` makes, kept under a key of what it depends on: `content`, which JSON can hold."""
    key = hash_content(content)
    text = _load_text(key)
    if text is not None:
        return text
    with claim(key) as claimed:
        text = _load_text(key) if claimed.waited else None
        if text is None:
            text = make()
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
    """Return the file of a key, or None where there is none."""
    folder = folders.find_cache()
    return files.read_stored(folder / f"{key}{SUFFIX}") if folder else None


def claim(key: str) -> files.Claim:
    """Wait until no other process makes the file of a key, and have the right to make it."""
    folder = folders.find_cache()
    return files.Claim(folder / f"{key}{SUFFIX}" if folder else None)


def store(key: str, capture: Capture) -> None:
    """Keep a capture under a key, which is its identity from then on."""
    if folders.find_cache() is not None:
        store_bytes(key, pack(capture.retold(identity=key)))


def store_bytes(key: str, data: bytes) -> None:
    """Write the file of a key: the whole or none, whoever else writes and whenever this process ends."""
    folder = folders.find_cache()
    if folder is None:
        return
    try:
        files.write_whole(folder / f"{key}{SUFFIX}", data)
        _written[folder] = _written.get(folder, LIMIT) + len(data)
        if _written[folder] > LIMIT / 32:  # each look asks for the size of every file
            _written[folder] = 0
            files.evict(folder, f"*{SUFFIX}", size=LIMIT)
    except OSError as error:
        _say_once(folder, error.strerror or type(error).__name__)


@cache
def _say_once(folder: Path, reason: str) -> None:
    """Say that a cache cannot be written: for information, since what was captured is right without."""
    log.info(
        "the capture cache %s cannot be written (%s), so every program is compiled; "
        "set XLA_INSPECT_CACHE to a folder, or to `off`",
        folder,
        reason,
    )
