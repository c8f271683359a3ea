"""The detection of a profile's format from the start of the file."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from pathlib import Path

from xla_inspect.errors import InspectError
from xla_inspect.traces import chrome, nsight, xplane
from xla_inspect.traces.event import Source

START = 1 << 16
"""The number of bytes at the start of a file that decide its format."""

_EXPORT = "nsys stats --report cuda_gpu_trace --format csv"
_SQLITE = b"SQLite format 3"
_PLANE = b"\x0a"
# A serialized profile always contains control characters, as field numbers and lengths; a text never does.
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1f]")


def open_trace(path: Path) -> Source:
    """Return a profile, or the newest one in a folder that `jax.profiler.trace` wrote, without reading its events.

    Args:
        path: An `.xplane.pb` of XProf or JAX, a Chrome trace (`.json`, `.json.gz`), or the table that
            `nsys stats --report cuda_gpu_trace --format csv` prints (or `cuda_gpu_kern_sum`).

    Raises:
        InspectError: There is no such file, or it has another format.
    """
    if path.is_dir():
        return open_trace(_find_newest(path))
    # A profile is read several times, which a pipe does not allow.
    if path.exists() and not path.is_file():
        message = f"{path} is a device or a pipe, which is read once\nwrite the profile into a file, and name that"
        raise InspectError(message)
    try:
        with path.open("rb") as file:
            start = file.read(START)
        compressed = start.startswith(chrome.GZIP)
        if compressed:
            with gzip.open(path) as unpacked:
                start = unpacked.read(START)
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or str(error) or "it is cut off"
        message = (
            f"{path} cannot be read: {why}\nname the file of a profile, or the folder that jax.profiler.trace wrote"
        )
        raise InspectError(message) from error
    if not start:
        message = f"{path} is empty\nprofile again: a profile is written when the profiler stops"
        raise InspectError(message)
    if start.startswith(_SQLITE) or path.suffix in {".nsys-rep", ".qdrep"}:
        message = f"{path} is Nsight's own database\nprint it as a table, and name that: {_EXPORT} {path} > trace.csv"
        raise InspectError(message)
    # A profile in this format is mapped into memory, which a compressed file does not allow.
    if compressed and _BINARY.search(start):
        message = f"{path} is compressed\nunpack it first: gunzip {path}"
        raise InspectError(message)
    return _sniff(path, start)


def open_profile(name: str, data: bytes) -> Source:
    """Return a profile of XLA from its content, which may come from an archive or a browser."""
    return Source(Path(name), xplane.FORM, xplane.read_events, data=data)


def _sniff(path: Path, start: bytes) -> Source:
    if _BINARY.search(start):
        if start.startswith(_PLANE):
            return Source(path, xplane.FORM, xplane.read_events)
    elif (text := start.decode("utf-8-sig", "replace").lstrip())[:1] in {"{", "["}:
        return Source(path, chrome.FORM, chrome.read_events)
    else:
        for columns in map(nsight.find_columns, csv.reader(text.splitlines())):
            if columns:
                return Source(path, nsight.TRACE if "start" in columns else nsight.SUMMARY, nsight.read_events)
    message = (
        f"{path} is no profile that is known here\n"
        f"it reads .xplane.pb, Chrome traces (.json, .json.gz), and what `{_EXPORT}` prints"
    )
    raise InspectError(message)


def _find_newest(folder: Path) -> Path:
    profiles = [*folder.rglob("*.xplane.pb")] or [*folder.rglob("*.trace.json.gz")]
    if not profiles:
        message = f"no profile in {folder}\nname the file of one, such as an .xplane.pb"
        raise InspectError(message)
    return max(profiles, key=lambda path: path.stat().st_mtime)
