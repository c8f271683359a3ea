"""The folder of environments in the user's cache: which are in use, what they take, and which go for want of room."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect import folders
from xla_inspect.store import lock

if TYPE_CHECKING:
    from collections.abc import Iterator

DESCRIPTION, USED = "environment.json", "used"
"""The files of an environment that say what it is, and when it was used last.

The description is written last: a folder without one is half an environment, and goes unless a process holds it.
"""

MOST_BYTES = 24 << 30
"""Bytes that environments may take; those that were not used for longest go first. uv shares most of them with its own
cache, where both lie on one disk, so that they take far less than they measure."""

_NAMED = "[0-9]*"
"""The pattern of the names of environments."""

PATIENCE = 1800
"""Seconds to wait for another process that makes the same environment: it may have a gigabyte to fetch."""


def find_store() -> Path:
    """Return the folder of environments; where nothing is to be kept, one that goes with this process."""
    cache = folders.find_cache()
    if cache is not None:
        return cache / "releases"
    if not _temporary:
        _temporary.append(tempfile.TemporaryDirectory(prefix="xla_inspect_releases_"))
    return Path(_temporary[0].name)


_temporary: list[tempfile.TemporaryDirectory[str]] = []


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep an environment from being evicted by another process while it is made or used."""
    with (folder / USED).open("a", encoding="utf-8") as file:
        with suppress(OSError):
            lock(file, shared=True)
        yield


def list_installed(store: Path | None = None) -> tuple[str, ...]:
    """Return the releases that have an environment, for want of any that could be installed."""
    return tuple(sorted({folder.name.partition("-")[0] for folder in _list_whole(store or find_store())}))


def measure_store(store: Path | None = None) -> int:
    """Return the bytes that the environments of releases take, those shared with uv's cache among them."""
    return sum(_measure(folder) for folder in _list_whole(store or find_store()))


def evict_environments(store: Path, limit: int = MOST_BYTES) -> None:
    """Remove halves of environments, and the least recently used until the others take less than a limit."""
    total = 0
    whole = _list_whole(store)
    halves = [path for path in store.glob(_NAMED) if path not in whole]
    for folder in (*halves, *sorted(whole, key=_find_last_use, reverse=True)):
        total += _measure(folder) if folder in whole else 0
        if (folder in halves or total > limit) and _is_free(folder):
            # It is gone at once for who looks for it, and then bit by bit.
            with suppress(OSError):
                folder.rename(folder.with_name(f".gone-{folder.name}-{os.getpid()}"))
    for gone in store.glob(".gone-*"):
        shutil.rmtree(gone, ignore_errors=True)


def _list_whole(store: Path) -> list[Path]:
    return [path for path in store.glob(_NAMED) if (path / DESCRIPTION).is_file()]


def _find_last_use(folder: Path) -> float:
    try:
        return (folder / USED).stat().st_mtime
    except OSError:
        return 0.0


def _measure(folder: Path) -> int:
    """Return the bytes of a folder, which are counted once and then known: an environment does not change."""
    known = folder / "size"
    with suppress(OSError, ValueError):
        return int(known.read_text(encoding="utf-8"))
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += path.lstat().st_size
    with suppress(OSError):
        known.write_text(str(total), encoding="utf-8")
    return total


def _is_free(folder: Path) -> bool:
    """Return whether no process makes or uses an environment; Windows renames no folder of which a file is open."""
    try:
        with (folder / USED).open("r+", encoding="utf-8") as file:
            return lock(file) or sys.platform == "win32"
    except OSError:
        return False
