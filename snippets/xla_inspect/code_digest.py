"""A hash of the package's own code, remembered in the cache folder until a file of the package changes."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from xla_inspect import closure, folders, store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

SETTLED = 2.0
"""The seconds since the last change of any file after which its times identify its content.

A file system may give two changes within a few milliseconds the same time.
"""


def hash_dependencies(files: Sequence[Path], package: Path) -> str:
    """Return the hash of the meaning of files of a package and of all that they import from it.

    Parsing a hundred modules takes about half a second, so the hash is stored with the sizes and times of all files of
    the package. Any change of these makes this function parse the modules again.

    Args:
        files: The files.
        package: The folder of `xla_inspect`.
    """
    folder = folders.find_cache()
    if folder is None:
        return _hash(files, package)
    names = [path.relative_to(package).as_posix() for path in files]
    path = folder / f"code-{_name(str(package), *names)}.txt"
    entries = sorted(_list_states(str(package)))
    state = _name(*(f"{entry}" for entry in entries))
    stored_state, _, digest = (store.read_stored(path) or b"").decode("ascii", "replace").partition(" ")
    if stored_state == state and len(digest) == hashlib.sha256().digest_size * 2:
        return digest
    digest = _hash(files, package)
    latest = max((max(times) for _, _, *times in entries), default=0)
    if time.time() - latest / 1e9 > SETTLED:
        # Without a writable folder every process parses the modules.
        with suppress(OSError):
            store.write_whole(path, f"{state} {digest}".encode("ascii"))
    return digest


def _hash(files: Sequence[Path], package: Path) -> str:
    return closure.hash_meaning(closure.find_files(files, {"xla_inspect": package}), package)


def _name(*texts: str) -> str:
    # Syntax trees differ between versions of Python.
    return hashlib.sha256("\0".join((sys.version, *texts)).encode("utf-8", "surrogateescape")).hexdigest()


def _list_states(folder: str) -> Iterator[tuple[str, int, int, int]]:
    """Yield the path, the size in bytes, and the two times in nanoseconds of each file in a folder.

    The first time is that of the content, which programs can set; the second one is that of any change, which they
    cannot set.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _list_states(entry.path)
            else:
                status = entry.stat()
                yield entry.path, status.st_size, status.st_mtime_ns, status.st_ctime_ns
