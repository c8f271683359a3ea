"""Files that are written whole or not at all, and of which those that were not used for longest go over a limit.

Imports the standard library alone and nothing of this package, so that whatever keeps a result can use it.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from threading import get_ident
from typing import IO, TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Container

UNFINISHED = ".tmp"
"""How the name of a file ends that is being written."""

ABANDONED = 3600
"""Seconds after which an unfinished file is taken for that of a process that died."""


def write_whole(path: Path, data: bytes) -> None:
    """Write a file: the whole or none, whoever else writes it and whenever this process ends.

    Raises:
        OSError: It cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}-{os.getpid()}-{get_ident()}{UNFINISHED}")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def read_stored(path: Path) -> bytes | None:
    """Return what a file holds, and count it as used now; None where there is none that can be read."""
    try:
        data = path.read_bytes()
        os.utime(path)
    except OSError:
        return None
    return data


def lock(file: IO[str], *, shared: bool = False) -> bool:
    """Lock a file until it is closed, and return whether that succeeded: no other process holds it.

    Windows has no such lock.

    Raises:
        OSError: The file lies where there are no locks.
    """
    try:
        import fcntl

        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except (ImportError, BlockingIOError):
        return False
    return True


class Claim:
    """The right to make a file that several processes want, so that one makes it and the others find it.

    It ends with its context, or with the process. Nobody waits longer than `patience`: a file that is made twice is
    work lost, and no more. Where the system has no locks of this kind, or no file is kept, everybody has the right.

    Attributes:
        waited: Whether another had the right first, and so may have made the file by now.
    """

    def __init__(self, path: Path | None, *, patience: float = 120) -> None:
        """Wait until nobody else makes a file.

        Args:
            path: The file; None where none is kept.
            patience: For how many seconds to wait at most.
        """
        self.waited = False
        self._lock: IO[str] | None = None
        if path is None:
            return
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = path.with_name(f".{path.name}-claim{UNFINISHED}").open("w")
            self._wait(self._lock, patience)

    def _wait(self, file: IO[str], patience: float) -> None:
        end = time.monotonic() + (0 if sys.platform == "win32" else patience)
        while time.monotonic() < end and not lock(file):
            self.waited = True
            time.sleep(0.02)

    def __enter__(self) -> Self:
        """Do nothing: the right is there already."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let others make the file."""
        if self._lock:
            with suppress(OSError):  # on Windows another may have it open
                # Whoever waits for the lock, or comes later and makes another, finds the file there.
                Path(self._lock.name).unlink(missing_ok=True)
            self._lock.close()


def evict(
    folder: Path, pattern: str, *, size: int = sys.maxsize, number: int = sys.maxsize, keep: Container[str] = ()
) -> None:
    """Remove what was not used for longest until at most so many bytes and files are left, and what died unfinished.

    Args:
        folder: Where the files lie.
        pattern: What their names look like; no other file counts.
        size: How many bytes they may take.
        number: How many they may be.
        keep: The names of files that stay, and do not count.
    """
    now, total = time.time(), 0
    files: list[tuple[float, str, int, Path]] = []
    for path in folder.iterdir():
        # Another process may remove it meanwhile.
        with suppress(OSError):
            status = path.stat()
            if path.match(pattern) and path.name not in keep:
                files.append((status.st_mtime, path.name, status.st_size, path))
            elif path.name.endswith(UNFINISHED) and now - status.st_mtime > ABANDONED:
                path.unlink()
    for rank, (_, _, length, path) in enumerate(sorted(files, reverse=True)):
        total += length
        if total > size or rank >= number:
            path.unlink(missing_ok=True)
