"""The folder of environments in the user's cache: which are in use, what they take, and which go for want of room."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from xla_inspect import folders

if TYPE_CHECKING:
    from collections.abc import Iterator

DESCRIPTION, USED = "environment.json", "used"
"""The files of an environment that say what it is, and when it was used last."""

MAKING = ".making-"
"""How the name of a folder begins in which an environment is made."""

MOST_BYTES = 24 << 30
"""Bytes that environments may take; those that were not used for longest go first. uv shares most of them with its own
cache, where both lie on one disk, so that they take far less than they measure."""

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
    """Keep an environment from being evicted by another process while it is used."""
    with (folder / USED).open("a", encoding="utf-8") as file:
        lock_file(file, shared=True)
        yield


def list_installed(store: Path | None = None) -> tuple[str, ...]:
    """Return the releases that have an environment, for want of any that could be installed."""
    return tuple(sorted({folder.name.partition("-")[0] for folder in _list_folders(store or find_store())}))


def measure_store(store: Path | None = None) -> int:
    """Return the bytes that the environments of releases take, those shared with uv's cache among them."""
    return sum(_measure(folder) for folder in _list_folders(store or find_store()))


def evict_environments(store: Path, limit: int = MOST_BYTES) -> None:
    """Remove the environments that were not used for longest, until the others take less than a limit."""
    total = 0
    for folder in sorted(_list_folders(store), key=_find_last_use, reverse=True):
        total += _measure(folder)
        if total > limit and _is_free(folder):
            # It is gone at once for who looks for it, and then bit by bit.
            gone = folder.with_name(f".gone-{folder.name}-{os.getpid()}")
            with suppress(OSError):
                folder.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)


def _list_folders(store: Path) -> list[Path]:
    return [path for path in store.glob("[0-9]*") if (path / DESCRIPTION).is_file()] if store.is_dir() else []


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
    try:
        with (folder / USED).open("a", encoding="utf-8") as file:
            return lock_file(file)
    except OSError:
        return True


def sweep_environments(store: Path) -> None:
    """Remove what processes left that died while they made an environment; where nothing tells the dead, nothing."""
    if sys.platform == "win32":
        return
    for folder in (*store.glob(f"{MAKING}*"), *store.glob(".gone-*")):
        dead = False
        try:
            with (folder / "lock").open("r+", encoding="utf-8") as file:  # it is not made here
                dead = lock_file(file)
        except OSError:
            # A folder without its lock is one that is made just now, or is half gone.
            with suppress(OSError):
                dead = time.time() - folder.stat().st_mtime > PATIENCE
        if dead:
            shutil.rmtree(folder, ignore_errors=True)


def lock_file(file: IO[str], *, shared: bool = False) -> bool:
    """Lock a file, and return whether that went. Where the system has no such lock, nobody is kept out."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
