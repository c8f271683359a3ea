"""The Markdown that notebooks were converted to, kept on disk under a key of all that it depends on.

That is the notebook, the project's files that it imports or shows, every installed package, Python, what the project
says of this machine, and the code that converts notebooks.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

from livepage.keep import file_seal, outcomes
from livepage.notebooks.cells import read_notebook
from livepage.read import project

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = Path(".cache/notebooks")
LIMIT = 4
"""How many outcomes of one notebook are kept."""

_PACKAGE = Path(__file__).parents[1]

_keys: dict[Path, str] = {}
_texts: dict[Path, str] = {}


def begin(paths: Iterable[Path]) -> None:
    """Find the key of each notebook, at the beginning of a build."""
    _keys.clear()
    _texts.clear()
    paths = list(paths)
    if not paths:
        return
    common = _hash_common()
    _keys.update({path: _make_key(path, common) for path in paths})


def is_kept(path: Path) -> bool:
    """Return whether a notebook need not run: what is kept is whole, and is of this notebook under this key."""
    if path in _keys and path not in _texts and (data := file_seal.read(_file(path))) is not None:
        _texts[path] = data.decode()
    return path in _texts


def load(path: Path) -> str:
    """Return the Markdown of a notebook.

    Raises:
        KeyError: It is not kept.
    """
    if is_kept(path):
        os.utime(_file(path))
    return _texts[path]


def store(path: Path, markdown: str) -> None:
    """Keep the Markdown of a notebook, and drop what was not used for longest."""
    file = _file(path)
    file_seal.write(file, markdown.encode())
    _texts[path] = markdown
    files = sorted(file.parent.glob(f"{_stem(path)}-*.md"), key=lambda other: other.stat().st_mtime)
    for old in files[:-LIMIT]:
        old.unlink(missing_ok=True)


def _file(path: Path) -> Path:
    return project.root / FOLDER / f"{_stem(path)}-{_keys[path]}.md"


def _stem(path: Path) -> str:
    return path.relative_to(project.root / project.docs).with_suffix("").as_posix().replace("/", "-")


def _make_key(path: Path, common: bytes) -> str:
    digest = hashlib.sha256(common)
    digest.update(path.read_bytes())
    cells = read_notebook(path).code_cells
    files = {Path(file) for file in outcomes.imported_files(cell.source for cell in cells)}
    _add_files(digest, files.union(*(project.adapter.list_files(cell.metadata) for cell in cells)))
    return digest.hexdigest()[:16]


def _hash_common() -> bytes:
    packages = sorted(package.name for package in Path(sysconfig.get_path("purelib")).glob("*.dist-info"))
    machine = project.adapter.describe_machine()
    digest = hashlib.sha256(json.dumps([packages, platform.python_version(), machine]).encode())
    _add_files(digest, [path for room in ("notebooks", "run") for path in (_PACKAGE / room).iterdir()])
    return digest.digest()


def _add_files(digest: hashlib._Hash, files: Iterable[Path]) -> None:
    for path in sorted(files):
        if path.is_file() and path.suffix != ".pyc":
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
