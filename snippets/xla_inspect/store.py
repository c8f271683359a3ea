"""Atomic writes of files, locks, and a cache that evicts the least recently used files.

This module imports only the standard library, so that any cache can use it.
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
"""The suffix of a file that is being written."""

ABANDONED = 3600
"""The seconds after which an unfinished file is assumed to belong to a dead process."""


def write_whole(path: Path, data: bytes) -> None:
    """Write a file atomically, even if other processes write it or this process ends.

    Raises:
        OSError: The file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # The name is unique for each process and thread, so that two writers do not share an unfinished file.
    unfinished = path.with_name(f".{path.name}-{os.getpid()}-{get_ident()}{UNFINISHED}")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(path)
    # An interrupt must not leave an unfinished file behind either.
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def read_stored(path: Path) -> bytes | None:
    """Return the contents of a file and mark it as used now, or return None if it cannot be read."""
    try:
        data = path.read_bytes()
        # The eviction goes by the time of the last change, since file systems may not record that of the last access.
        os.utime(path)
    except OSError:
        return None
    return data


def lock(file: IO[str], *, shared: bool = False) -> bool:
    """Try to lock a file until it is closed, without waiting, and return whether the lock was acquired.

    Windows has no such lock, so the result is always false there.

    Raises:
        OSError: The file system has no locks.
    """
    try:
        import fcntl

        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except (ImportError, BlockingIOError):
        return False
    return True


class Claim:
    """The right to create a file that several processes need, so that one creates it and the others read it.

    The claim ends with its context, or with the process. No process waits longer than `patience`: creating a file twice
    only wastes work. Without such locks, or without a file to store, every process has the right.

    Attributes:
        waited: Whether another process had the right first, and may have created the file by now.
    """

    def __init__(self, path: Path | None, *, patience: float = 120) -> None:
        """Wait until no other process is creating a file.

        Args:
            path: The file, or None if no file is stored.
            patience: The longest time to wait, in seconds.
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
            # A blocking lock has no time limit, so the lock is polled.
            time.sleep(0.02)

    def __enter__(self) -> Self:
        """Return the claim itself, which was acquired when it was created."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let other processes create the file."""
        if self._lock:
            with suppress(OSError):  # on Windows another may have it open
                # Processes that wait for the lock, or create a new one later, find the finished file.
                Path(self._lock.name).unlink(missing_ok=True)
            self._lock.close()


def evict(
    folder: Path, pattern: str, *, size: int = sys.maxsize, number: int = sys.maxsize, keep: Container[str] = ()
) -> None:
    """Remove the least recently used files above a limit, and unfinished files of dead processes.

    Args:
        folder: The folder of the files.
        pattern: The pattern of their names. Other files do not count.
        size: The largest total size in bytes.
        number: The largest number of files.
        keep: The names of files that are never removed and do not count.
    """
    now, total = time.time(), 0
    files: list[tuple[float, str, int, Path]] = []
    for path in folder.iterdir():
        # Another process may remove a file at the same time.
        with suppress(OSError):
            status = path.stat()
            if path.match(pattern) and path.name not in keep:
                files.append((status.st_mtime, path.name, status.st_size, path))
            elif path.name.endswith(UNFINISHED) and now - status.st_mtime > ABANDONED:
                path.unlink()
    # The newest files come first, so only the oldest exceed a limit.
    for rank, (_, _, length, path) in enumerate(sorted(files, reverse=True)):
        total += length
        if total > size or rank >= number:
            path.unlink(missing_ok=True)
