"""The one store of what was made of pages: what they came to, what they were rendered to, what notebooks became.

Each entry lies on disk under all that it depends on: a key of what is known before, and the inputs that were met on
the way. With `LIVE=all` in the environment an entry counts in the build alone that made it.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from livepage.keep import file_seal
from livepage.keep.inputs import Inputs, hash_file
from livepage.read import project

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = ".cache/pages"
LIMIT = 4
"""How many entries of one kind are kept of a page, so that who goes back to another text finds it again."""

BUILD = "LIVEPAGE_BUILD"
"""The variable that names a build to the processes that it starts."""

STORE_OFF = "LIVEPAGE_STORE_OFF"
"""The variable of a process that finds and keeps nothing: it runs pages as nobody else does."""


@dataclass
class _Entry:
    key: str
    inputs: Inputs
    build: str
    page: str
    data: Any


_memory: dict[tuple[str, str], _Entry] = {}


def begin() -> None:
    """Begin a build."""
    os.environ[BUILD] = f"{os.getpid()}-{int.from_bytes(os.urandom(6))}"


def find(kind: str, name: str, key: str) -> Any:  # noqa: ANN401 - whatever was kept
    """Return what is kept of a page under a key, where its inputs are as they were, or None.

    Args:
        kind: What it is.
        name: The page's file, relative to the project.
        key: A hash of what it depends on and is known before, the engine's own code among it.
    """
    if STORE_OFF in os.environ:
        return None
    entry = _memory.get((kind, name))
    if entry and _is_current(entry, key):
        return entry.data
    for path in reversed(_list(kind, name)):
        entry = _read(path)
        if entry and _is_current(entry, key):
            os.utime(path)
            entry.data = pickle.loads(entry.data)  # noqa: S301 - sealed, and written by this code
            _memory[kind, name] = entry
            return entry.data
    return None


def keep(kind: str, name: str, key: str, inputs: Inputs, data: object) -> None:
    """Keep what was made of a page, and drop what was not used for longest; nothing where it read what nobody keeps."""
    _memory.pop((kind, name), None)
    if inputs.fleeting or STORE_OFF in os.environ:
        return
    page = hash_file(str(project.root / name))
    _memory[kind, name] = entry = _Entry(key, inputs, _name_build(), page, data)
    facts = {"key": key, "inputs": asdict(inputs), "build": entry.build, "page": page}
    identity = hashlib.sha256(f"{key} {json.dumps(asdict(inputs), sort_keys=True)}".encode()).hexdigest()[:16]
    content = json.dumps(facts, sort_keys=True).encode() + b"\n" + pickle.dumps(data)
    file_seal.write(_folder(kind) / f"{_stem(name)}-{identity}.kept", content)
    for old in _list(kind, name)[:-LIMIT]:
        old.unlink(missing_ok=True)


def list_inputs(kind: str, name: str) -> Inputs:
    """Return what the entry of a page depends on that was found or kept last."""
    entry = _memory.get((kind, name))
    return entry.inputs if entry else Inputs()


def seems_kept(name: str) -> bool:
    """Return whether something is kept of a page's text as it is now; whether it is current, `find` says."""
    page = hash_file(str(project.root / name))
    for kind in ("outcomes", "notebooks"):
        for path in reversed(_list(kind, name)):
            if (entry := _read(path)) and entry.page == page:
                return _is_current(entry, entry.key)
    return False


def forget() -> None:
    """Forget what is in memory, as at the start of a process."""
    _memory.clear()


def _is_current(entry: _Entry, key: str) -> bool:
    return entry.key == key and _name_build() in {"", entry.build} and entry.inputs.are_current()


def _name_build() -> str:
    """Return the name of this build where every page has to run in it, else an empty string."""
    return os.environ.get(BUILD, f"{os.getpid()}") if os.environ.get("LIVE") == "all" else ""


def _read(path: Path) -> _Entry | None:
    """Return an entry whose data is still as it is written, since another version of the engine may have written it."""
    content = file_seal.read(path)
    if content is None:
        return None
    head, _, body = content.partition(b"\n")
    facts = json.loads(head)
    return _Entry(facts["key"], Inputs(**facts["inputs"]), facts["build"], facts["page"], body)


def _list(kind: str, name: str) -> list[Path]:
    """Return the files of a page's entries, the one that was used last at the end."""
    found = []
    for path in _folder(kind).glob(f"{_stem(name)}-????????????????.kept"):
        try:
            found.append((path.stat().st_mtime_ns, path))
        except OSError:  # another process dropped it
            continue
    return [path for _, path in sorted(found)]


def _folder(kind: str) -> Path:
    return project.root / FOLDER / kind


def _stem(name: str) -> str:
    return name.replace("/", "-")
