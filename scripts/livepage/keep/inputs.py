"""What a page read besides its own text, and whether all of it is as it was."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from livepage.read import project

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

CACHES = frozenset({".cache", ".git", ".venv", ".uv", "__pycache__", "site"})
"""The folders of which no page's content depends: they hold what was made."""

type Status = tuple[int, int]

_hashes: dict[str, tuple[Status, str]] = {}


@dataclass(frozen=True)
class Inputs:
    """What was read, as it was then.

    Attributes:
        files: By name relative to the project, a hash of the content; empty for a file that was not there.
        folders: By name, a hash of the names in a folder that was listed.
        variables: The environment's variables that the project's own code asked for, with their values.
        fleeting: What nobody can keep, such as the clock, in words; empty where there was none.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str | None] = field(default_factory=dict)
    fleeting: str = ""

    @classmethod
    def take(
        cls, files: Iterable[str], folders: Iterable[str] = (), variables: Mapping[str, str | None] | None = None
    ) -> Inputs:
        """Return the state of files and folders of the project now; others do not count."""
        return cls(
            {_name(path): hash_file(path) for path in sorted(set(files)) if _is_own(path)},
            {_name(path): hash_names(path) for path in sorted(set(folders)) if _is_own(path)},
            dict(sorted((variables or {}).items())),
        )

    def are_current(self) -> bool:
        """Return whether all of it is as it was."""
        root = f"{project.root}{os.sep}"
        return (
            not self.fleeting
            and all(os.environ.get(name) == value for name, value in self.variables.items())
            and all(hash_file(root + name) == value for name, value in self.files.items())
            and all(hash_names(root + name) == value for name, value in self.folders.items())
        )


def hash_file(path: str) -> str:
    """Return a hash of a file, which is read again when its date or its size is another; empty where there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116 - called for hundreds of files on each rebuild
        now = status.st_mtime_ns, status.st_size
        if _hashes.get(path, (None, ""))[0] != now:
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


def _is_own(path: str) -> bool:
    return path.startswith(f"{project.root}{os.sep}") and not CACHES.intersection(Path(_name(path)).parts)


def _name(path: str) -> str:
    return path[len(str(project.root)) + 1 :]
