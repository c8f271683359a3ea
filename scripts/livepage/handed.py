"""What notebooks were handed over as, kept on disk under a key of all that it depends on.

That is the notebook, the files of `snippets/` that it imports, the exercises that it shows, every installed package,
Python, the targets that this machine can compile for, the reader's XLA flags, and the code that hands notebooks over.
"""

from __future__ import annotations

import hashlib
import html
import json
import logging
import os
import platform
import re
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from livepage import memo, percent
from livepage.project import project

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = Path(".cache/notebooks")
LIMIT = 4
"""How many outcomes of one notebook are kept."""

_GAP = re.compile(r'<p class="gap" data-target="([^"]+)">[^<]*?not compiled here: ([^<]*)</p>')
_OWN = ("notebook.md.j2", "notebooks.py", "handed.py", "percent.py")

_keys: dict[Path, str] = {}


def begin(paths: Iterable[Path]) -> None:
    """Find the key of each notebook, at the beginning of a build."""
    _keys.clear()
    paths = list(paths)
    if not paths:
        return
    common = _hash_common()
    _keys.update({path: _make_key(path, common) for path in paths})


def is_kept(path: Path) -> bool:
    """Return whether a notebook need not run."""
    return path in _keys and _file(path).is_file()


def load(path: Path) -> str:
    """Return the Markdown that a notebook was handed over as."""
    os.utime(_file(path))
    return _file(path).read_text(encoding="utf-8")


def store(path: Path, markdown: str) -> None:
    """Keep the Markdown of a notebook: the whole or none, and drop what was not used for longest."""
    file = _file(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, unfinished = tempfile.mkstemp(dir=file.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(markdown)
    Path(unfinished).replace(file)
    kept = sorted(file.parent.glob(f"{_stem(path)}-*.md"), key=lambda other: other.stat().st_mtime)
    for old in kept[:-LIMIT]:
        old.unlink(missing_ok=True)


def list_gaps(markdown: str) -> dict[str, str]:
    """Return the targets that are missing from what a notebook shows, each with the reason."""
    return {html.unescape(target): html.unescape(reason) for target, reason in _GAP.findall(markdown)}


def shut_out_settings() -> None:
    """Keep the reader's own settings of Jupyter and IPython out of the processes that run notebooks."""
    folder = project.root / FOLDER / "settings"
    profile = folder / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    chosen = {
        # Each would warn that it speaks to this process over plain TCP, which does not leave the machine.
        "Application": {"log_level": logging.ERROR},
        # A notebook `capstone.py` would otherwise be imported by those beside it that want the library `capstone`.
        "InteractiveShellApp": {"ignore_cwd": True},
    }
    (profile / "ipython_kernel_config.json").write_text(json.dumps(chosen), encoding="utf-8")
    os.environ["JUPYTER_CONFIG_DIR"] = os.environ["IPYTHONDIR"] = str(folder)


def _file(path: Path) -> Path:
    return project.root / FOLDER / f"{_stem(path)}-{_keys[path]}.md"


def _stem(path: Path) -> str:
    return path.relative_to(project.root / project.docs).with_suffix("").as_posix().replace("/", "-")


def _make_key(path: Path, common: bytes) -> str:
    digest = hashlib.sha256(common)
    digest.update(path.read_bytes())
    cells = percent.read(path).code_cells
    # The package counts for all of them.
    package = f"{project.root / 'snippets' / 'xla_inspect'}{os.sep}"
    files = {file for file in memo.imported_files(cell.source for cell in cells) if not file.startswith(package)}
    for cell in cells:
        if exercise := cell.metadata.get("exercise"):
            beside = project.root / "snippets" / "practice"
            files |= {str(beside / f"{exercise}.py"), str(beside / "solutions" / f"{exercise}.py")}
            files |= {str(other) for other in (beside / str(exercise)).parent.glob("*.py")}
    _add_files(digest, sorted(files))
    return digest.hexdigest()[:16]


def _hash_common() -> bytes:
    from xla_inspect import available
    from xla_inspect.capture.cache import ambient_flags

    digest = hashlib.sha256()
    packages = sorted(found.name for found in Path(sysconfig.get_path("purelib")).glob("*.dist-info"))
    digest.update(json.dumps([packages, platform.python_version(), available(), ambient_flags({})]).encode())
    _add_files(digest, [str(Path(__file__).with_name(name)) for name in _OWN])
    package = Path(sys.modules["xla_inspect"].__file__ or "").parent
    _add_files(digest, sorted(str(path) for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"))
    return digest.digest()


def _add_files(digest: hashlib._Hash, files: Iterable[str]) -> None:
    for file in files:
        path = Path(file)
        if path.is_file():
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
