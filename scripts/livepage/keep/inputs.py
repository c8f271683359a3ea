"""The inputs of a page other than its own text, and the test that none of them has changed."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from livepage.keep.repository import read_state
from livepage.read import CACHES, project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

type Stamp = tuple[int, int] | None
"""The modification time and size of a file, or None for a missing file."""

_hashes: dict[str, tuple[Stamp, str]] = {}


@dataclass(frozen=True)
class Inputs:
    """The inputs that were read, with their state at that time.

    Attributes:
        facts: The results of the functions in `READERS`, by kind and name, as in `file docs/index.md`.
        fleeting: A description of an input that cannot be stored, such as the clock; empty if there was none.
    """

    facts: Mapping[str, object] = field(default_factory=dict)
    fleeting: str = ""

    @classmethod
    def take(cls, files: Iterable[str]) -> Inputs:
        """Return the current state of those files that belong to the project."""
        paths = {path for path in files if os.path.basename(path) not in project.adapter.fetched}  # noqa: PTH119 - as below
        return cls({f"file {name}": hash_file(path) for path in paths if (name := project.find_name(path))})

    def __or__(self, other: Inputs) -> Inputs:
        """Return the union of both inputs; where both have an entry, the other's entry wins."""
        return Inputs({**self.facts, **other.facts}, self.fleeting or other.fleeting)

    def are_current(self) -> bool:
        """Return whether all inputs can be stored and none has changed."""
        return not self.fleeting and self.are_same()

    def are_same(self) -> bool:
        """Return whether none of the storable inputs has changed."""
        return all(_read(*fact.split(" ", 1)) == value for fact, value in self.facts.items())


def _read(kind: str, name: str) -> object:
    return READERS[kind](name if kind in {"variable", "git"} else f"{project.root}{os.sep}{name}")


def stamp(files: Iterable[str]) -> dict[str, Stamp]:
    """Return the modification times and sizes of files, without reading the files."""
    return {file: _stamp(file) for file in files}


def stamp_folder(folder: str) -> int:
    """Return a hash of the names, modification times and sizes of all files in a folder, except those of caches.

    A missing folder counts as an empty one.
    """
    stamps: list[tuple[str, Stamp]] = []
    waiting = [folder] if os.path.isdir(folder) else []  # noqa: PTH112 - as below
    while waiting:
        for entry in os.scandir(waiting.pop()):  # much faster than `Path.walk`
            if not entry.is_dir():
                stamps.append((entry.path, _stamp(entry.path)))
            elif entry.name not in CACHES:
                waiting.append(entry.path)
    return hash(tuple(sorted(stamps)))


def _stamp(file: str) -> Stamp:
    try:
        status = os.stat(file)  # noqa: PTH116 - called for hundreds of files on each rebuild
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def hash_file(path: str) -> str:
    """Return a hash of a file's content, or an empty string for a missing file.

    The file is only read again if its modification time or its size has changed.
    """
    now = _stamp(path)
    if now is None:
        return ""
    if path not in _hashes or _hashes[path][0] != now:
        try:
            _hashes[path] = now, hashlib.sha256(Path(path).read_bytes()).hexdigest()[:32]
        except OSError:
            return ""
    return _hashes[path][1]


def hash_names(path: str) -> str:
    """Return a hash of the names in a folder, except those of caches, or an empty string for a missing folder."""
    try:
        left_out = CACHES | {*project.adapter.fetched}
        names = sorted(name for name in os.listdir(path) if name not in left_out)  # noqa: PTH208 - as above
    except OSError:
        return ""
    return hashlib.sha256("\0".join(names).encode()).hexdigest()[:32]


READERS: Mapping[str, Callable[[str], object]] = {
    "file": hash_file,
    "folder": hash_names,
    "asked": os.path.exists,
    "variable": os.environ.get,
    "git": read_state,
}
"""The kinds of inputs, each with the function that reads one: the content of a file, the names in a folder, whether a
path exists, the value of an environment variable, and the commit of the clone.
"""
