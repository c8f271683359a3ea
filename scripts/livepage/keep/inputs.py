"""What a page read besides its own text, and whether all of it is as it was."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from livepage.read import CACHES, project

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

type Stamp = tuple[int, int] | None
"""When a file was written, and how long it is; None where there is none."""

_hashes: dict[str, tuple[Stamp, str]] = {}


@dataclass(frozen=True)
class Inputs:
    """What was read, as it was then.

    Attributes:
        files: By name relative to the project, a hash of the content; empty for a file that was not there.
        folders: By name, a hash of the names in a folder that was listed.
        variables: The environment's variables that the project's own code asked for, with their values.
        asked: By name, whether something was there that was asked for and perhaps not opened.
        fleeting: What nobody can keep, such as the clock, in words; empty where there was none.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str | None] = field(default_factory=dict)
    asked: Mapping[str, bool] = field(default_factory=dict)
    fleeting: str = ""

    @classmethod
    def take(cls, files: Iterable[str]) -> Inputs:
        """Return the state of files of the project now; others do not count."""
        return cls({name: hash_file(path) for path in set(files) if (name := project.find_name(path))})

    def are_current(self) -> bool:
        """Return whether all of it can be held, and is as it was."""
        return not self.fleeting and self.are_same()

    def are_same(self) -> bool:
        """Return whether all that can be held is as it was."""
        root = f"{project.root}{os.sep}"
        return (
            all(os.environ.get(name) == value for name, value in self.variables.items())
            and all(hash_file(root + name) == value for name, value in self.files.items())
            and all(hash_names(root + name) == value for name, value in self.folders.items())
            and all((_stamp(root + name) is not None) == value for name, value in self.asked.items())
        )


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
