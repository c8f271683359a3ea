"""The folder of JAX releases' environments in the user's cache: locks, sizes, and removal of those unused longest."""

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
"""The files of an environment with its description and the time of its last use.

The description is written last: a folder without one is incomplete, and is removed unless a process has locked it.
"""

MOST_BYTES = 24 << 30
"""The size limit of all environments in bytes; the least recently used are removed first. uv shares most files with its
own cache if both are on one disk, so the environments use far less space than their measured size."""

_NAMED = "[0-9]*"
"""The pattern of the names of environments."""

PATIENCE = 1800
"""Seconds to wait for another process that creates the same environment: it may download a gigabyte."""


def find_store() -> Path:
    """Return the folder of environments, or a temporary folder for this process if the cache is off."""
    cache = folders.find_cache()
    if cache is not None:
        return cache / "releases"
    if not _temporary:
        _temporary.append(tempfile.TemporaryDirectory(prefix="xla_inspect_releases_"))
    return Path(_temporary[0].name)


_temporary: list[tempfile.TemporaryDirectory[str]] = []


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Protect an environment from eviction by other processes within the `with` block."""
    with (folder / USED).open("a", encoding="utf-8") as file:
        with suppress(OSError):
            # Several processes may use one environment, and only its removal needs the lock alone.
            lock(file, shared=True)
        yield


def list_installed(store: Path | None = None) -> tuple[str, ...]:
    """Return the releases of JAX that have an installed environment, each once, in alphabetical order."""
    return tuple(sorted({folder.name.partition("-")[0] for folder in _list_whole(store or find_store())}))


def measure_store(store: Path | None = None) -> int:
    """Return the total size of the environments in bytes, including files shared with uv's cache."""
    return sum(_measure(folder) for folder in _list_whole(store or find_store()))


def evict_environments(store: Path, limit: int = MOST_BYTES) -> None:
    """Remove incomplete environments, and the least recently used ones above a total size, except those in use.

    Args:
        store: The folder of environments.
        limit: The total size that may remain, in bytes.
    """
    total = 0
    whole = _list_whole(store)
    halves = [path for path in store.glob(_NAMED) if path not in whole]
    for folder in (*halves, *sorted(whole, key=_find_last_use, reverse=True)):
        total += _measure(folder) if folder in whole else 0
        if (folder in halves or total > limit) and _is_free(folder):
            # The rename removes the environment atomically for other processes; the deletion takes longer.
            with suppress(OSError):
                folder.rename(folder.with_name(f".gone-{folder.name}-{os.getpid()}"))
    # A process that was killed during a deletion leaves a renamed folder, which is deleted here.
    for leftover in store.glob(".gone-*"):
        shutil.rmtree(leftover, ignore_errors=True)


def _list_whole(store: Path) -> list[Path]:
    return [path for path in store.glob(_NAMED) if (path / DESCRIPTION).is_file()]


def _find_last_use(folder: Path) -> float:
    try:
        return (folder / USED).stat().st_mtime
    except OSError:
        return 0.0


def _measure(folder: Path) -> int:
    """Return the size of an environment in bytes, from the file `size` in its folder, which the first call writes."""
    record = folder / "size"
    # A record that another process has written only in part is no number, and the folder is measured again.
    with suppress(OSError, ValueError):
        return int(record.read_text(encoding="utf-8"))
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += path.lstat().st_size
    with suppress(OSError):
        record.write_text(str(total), encoding="utf-8")
    return total


def _is_free(folder: Path) -> bool:
    """Return whether no process creates or uses an environment.

    On Windows, the result is true for every environment, since folders in use cannot be renamed there.
    """
    try:
        # This mode does not create the file, so a folder without it is never free.
        with (folder / USED).open("r+", encoding="utf-8") as file:
            return lock(file) or sys.platform == "win32"
    except OSError:
        return False
