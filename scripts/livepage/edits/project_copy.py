"""A copy of a project in which a program is another: what runs there can write into it, and never into the project."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from livepage.keep import CACHES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PLACE = Path(".cache") / "edits"
"""Where copies lie: on the disk of the project, so that what is kept can be linked, and where nobody looks for edits.
"""

_SKIPPED = CACHES - {"__pycache__"}


class ProjectCopy:
    """A copy, which is gone once `remove` is called.

    Attributes:
        root: Its folder.
        variables: The variables of the environment that name its own caches.
    """

    def __init__(self, project: Path, caches: Mapping[str, Path]) -> None:
        """Make it.

        Args:
            project: The folder of the project.
            caches: By variables of the environment, folders whose files are taken over as links: nobody writes into
                a file of a cache, and a new one stays in the copy.
        """
        self._project = project
        (project / PLACE).mkdir(parents=True, exist_ok=True)
        self.root = Path(tempfile.mkdtemp(dir=project / PLACE, prefix=f"{os.getpid()}-")).resolve()
        self._edited: dict[str, str] = {}
        self.variables = {name: str(self.root / ".cache" / name.lower()) for name in caches}
        for name, folder in caches.items():
            _link(folder, Path(self.variables[name]))
        for kept in ("pages", "templates"):
            _link(project / ".cache" / kept, self.root / ".cache" / kept)
        self.refresh()

    def refresh(self) -> None:
        """Take over what changed in the project since; files that are edited in the copy stay as they are."""
        there = dict(_walk(self._project))
        here = dict(_walk(self.root))
        for name, status in there.items():
            known = here.get(name)
            if name in self._edited or (
                known and (known.st_mtime_ns, known.st_size) == (status.st_mtime_ns, status.st_size)
            ):
                continue
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                if known:
                    (self.root / name).unlink()
                _copy(self._project / name, self.root / name)
        for name in here.keys() - there.keys() - self._edited.keys():
            if "__pycache__" not in name:
                (self.root / name).unlink(missing_ok=True)

    def put(self, name: str, text: str) -> None:
        """Write a file of the copy; its other files are what the project has."""
        self._edited = {name: text}
        self.refresh()
        path = self.root / name
        fresh = path.with_name(f".{path.name}.new")
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(path)

    def remove(self) -> None:
        """Remove it."""
        shutil.rmtree(self.root, ignore_errors=True)


def remove_left(project: Path) -> None:
    """Remove the copies of processes that ended without doing so."""
    for folder in (project / PLACE).glob("*-*"):
        owner = folder.name.partition("-")[0]
        if owner.isdigit() and not _is_alive(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _walk(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the files of a project and its links by name, without caches."""
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        with os.scandir(root / folder) as entries:
            for entry in entries:
                name = f"{folder}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _SKIPPED:
                        waiting.append(f"{name}/")
                else:
                    yield name, entry.stat(follow_symlinks=False)


def _copy(path: Path, place: Path) -> None:
    """Copy a file with its date, or a link as one."""
    if path.is_symlink():
        place.symlink_to(path.readlink())
    else:
        shutil.copy2(path, place)


def _link(folder: Path, place: Path) -> None:
    place.mkdir(parents=True, exist_ok=True)
    if not folder.is_dir():
        return
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            target = place / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                target.hardlink_to(path)
            except FileNotFoundError:
                continue  # another process dropped it
            except OSError:
                shutil.copy2(path, target)
