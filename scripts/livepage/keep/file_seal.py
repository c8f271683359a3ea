"""Files of a cache, each bound to its name and its content: one that is damaged or another's is not taken for it."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from livepage.read import log, project


def read(path: Path) -> bytes | None:
    """Return what was written at a path, or None where nothing is, or something else, which is said."""
    try:
        seal, _, data = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    if seal == _seal(path, data):
        return data
    log.info("%s is damaged or another's: it is made again", path.relative_to(project.root).as_posix())
    path.unlink()
    return None


def write(path: Path, data: bytes) -> None:
    """Write data at a path: the whole or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as unfinished:
        unfinished.write(_seal(path, data) + b"\n" + data)
    Path(unfinished.name).replace(path)


def _seal(path: Path, data: bytes) -> bytes:
    return hashlib.sha256(path.name.encode() + b"\n" + data).hexdigest().encode()
