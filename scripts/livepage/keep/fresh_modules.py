"""Fresh imports of the project's own modules for each page, so that the files they read are recorded for each page."""

from __future__ import annotations

import importlib
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from livepage.keep.inputs import hash_file
from livepage.keep.watch import unwatched
from livepage.read import project
from livepage.run import is_own_file

if TYPE_CHECKING:
    from collections.abc import Iterator

_loaded: dict[str, str] = {}
"""The files of the project's packages that stay loaded, each with the hash of its content when it was loaded."""


@contextmanager
def fresh_modules() -> Iterator[dict[str, str]]:
    """Set the modules of `snippets/` aside, and yield a dictionary that will map each imported file to its hash.

    The packages that the adapter lists in `packages` stay loaded, because they are large and hold compilers. They are
    imported again if one of their files changed. The modules that were set aside are restored at the end.
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
        with unwatched():  # to look at a module's file is not to read it
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
    """Unload the packages with a file that changed since it was loaded."""
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
