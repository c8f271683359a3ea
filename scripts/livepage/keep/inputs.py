"""What a page read besides its own text, and whether all of it is as it was."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from livepage.read import CACHES, project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

type Stamp = tuple[int, int] | None
"""When a file was written, and how long it is; None where there is none."""

_hashes: dict[str, tuple[Stamp, str]] = {}


@dataclass(frozen=True)
class Inputs:
    """What was read, as it was then.

    Attributes:
        facts: What each of `READERS` returned, by its kind and a name, as in `file docs/index.md`.
        fleeting: What nobody can keep, such as the clock, in words; empty where there was none.
    """

    facts: Mapping[str, object] = field(default_factory=dict)
    fleeting: str = ""

    @classmethod
    def take(cls, files: Iterable[str]) -> Inputs:
        """Return the state of files of the project now; others do not count."""
        return cls({f"file {name}": hash_file(path) for path in set(files) if (name := project.find_name(path))})

    def __or__(self, other: Inputs) -> Inputs:
        """Return both; what both have is as the other says."""
        return Inputs({**self.facts, **other.facts}, self.fleeting or other.fleeting)

    def are_current(self) -> bool:
        """Return whether all of it can be held, and is as it was."""
        return not self.fleeting and self.are_same()

    def are_same(self) -> bool:
        """Return whether all that can be held is as it was."""
        return all(_read(*fact.split(" ", 1)) == value for fact, value in self.facts.items())


def _read(kind: str, name: str) -> object:
    return READERS[kind](name if kind == "variable" else f"{project.root}{os.sep}{name}")


def stamp(files: Iterable[str]) -> dict[str, Stamp]:
    """Return the state of files now, without reading them."""
    return {file: _stamp(file) for file in files}


def _stamp(file: str) -> Stamp:
    try:
        status = os.stat(file)  # noqa: PTH116 - called for hundreds of files on each rebuild
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def hash_file(path: str) -> str:
    """Return a hash of a file, which is read again when its date or its size is another; empty where there is none."""
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
    """Return a hash of the names in a folder, but for caches; empty where there is none."""
    try:
        names = sorted(name for name in os.listdir(path) if name not in CACHES)  # noqa: PTH208 - as above
    except OSError:
        return ""
    return hashlib.sha256("\0".join(names).encode()).hexdigest()[:32]


READERS: Mapping[str, Callable[[str], object]] = {
    "file": hash_file,
    "folder": hash_names,
    "asked": os.path.exists,
    "variable": os.environ.get,
}
"""Kinds of inputs, each with what reads one: the content of a file, which is empty where there is none, the names in a
folder, whether something is there, and a variable of the environment."""
