"""Let each page import the project's own modules anew, so that what they read is read, and noted, for each page."""

from __future__ import annotations

import importlib
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from livepage.keep.inputs import hash_file
from livepage.read import project
from livepage.run import is_own_file

if TYPE_CHECKING:
    from collections.abc import Iterator

_loaded: dict[str, str] = {}
"""The files of the project's packages that stay loaded, each with a hash of what it held then."""


@contextmanager
def fresh_modules() -> Iterator[dict[str, str]]:
    """Put the modules of `snippets/` aside; what was imported meanwhile, each with its file's hash, is in the result.

    The packages that the project names as its tool stay: they are large, hold compilers, and count whole. They are
    imported anew where one of their files changed. What was put aside comes back at the end.
    """
    _drop_changed_packages()
    aside = {name: module for name, module in list(sys.modules.items()) if _is_fresh_for_each(name)}
    for name in aside:
        del sys.modules[name]
    importlib.invalidate_caches()
    imported: dict[str, str] = {}
    try:
        yield imported
    finally:
        imported.update({file: hash_file(file) for _, file in _list_modules()})
        _loaded.update({file: value for file, value in imported.items() if file not in _loaded})
        for name in [name for name in list(sys.modules) if _is_fresh_for_each(name)]:
            del sys.modules[name]
        sys.modules.update(aside)


def _is_fresh_for_each(name: str) -> bool:
    module = sys.modules[name]
    places = [getattr(module, "__file__", None) or "", *map(str, getattr(module, "__path__", ()))]
    return any(os.path.isabs(place) and is_own_file(place) for place in places)  # noqa: PTH117 - for each module


def _drop_changed_packages() -> None:
    """Drop the packages of which a file is another than the one that was loaded."""
    packages = {(name.partition(".")[0], file) for name, file in _list_modules()}
    stale = {
        name
        for name, file in packages
        if name in project.adapter.packages and _loaded.setdefault(file, hash_file(file)) != hash_file(file)
    }
    for name in [name for name in list(sys.modules) if name.partition(".")[0] in stale]:
        _loaded.pop(getattr(sys.modules[name], "__file__", None) or "", None)
        del sys.modules[name]


def _list_modules() -> Iterator[tuple[str, str]]:
    folder = f"{project.root / 'snippets'}{os.sep}"
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and file.startswith(folder):
            yield name, str(Path(file))
