"""Keep what the pages came to, so that an edit runs again only what it can change.

A page runs again when the code of one of its pieces changed, or a file that this code imports or opens.
Nothing outlives the process.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livepage.read import project
from livepage.run import listen, run_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from livepage.read import Outcome, Source

type Stamp = tuple[int, int] | None

_SKIPPED = {".cache", ".git", ".venv", "__pycache__", "site"}

_kept: dict[str, tuple[list[object], dict[str, Stamp], list[Outcome]]] = {}
_loaded: dict[str, Stamp] = {}
_watches: list[set[str]] = []
_is_hooked = False


def obtain(source: Source) -> tuple[list[Outcome], bool]:
    """Return what the pieces of a page come to, and whether they had to run for it."""
    # What shows a line of the page itself, of a function that stands on it, says of which file: lines move with prose.
    places = [(piece.origin, piece.lines) for piece in source.pieces]
    key: list[object] = [(piece.kind, piece.code) for piece in source.pieces]
    entry = _kept.pop(source.name, None)
    if entry and entry[0] in (key, [*key, places]) and are_current(entry[1]):
        _kept[source.name] = entry
        return entry[2], False
    drop_changed_modules()
    with Watch() as opened:
        results = run_page(source)
    _remember_modules()
    if not any(outcome.failure for outcome in results):
        files = opened | imported_files(piece.code for piece in source.pieces)
        own = str(project.root / source.name)
        if any(source.name in result.text for result in results):
            key.append(places)
        _kept[source.name] = (key, stamp(files - {own}), results)
    return results, True


def list_files(name: str) -> dict[str, Stamp]:
    """Return the files that a page's pieces read or import, with the stamp of each when they ran."""
    return _kept[name][1] if name in _kept else {}


def stamp(files: Iterable[str]) -> dict[str, Stamp]:
    """Return the state of files now."""
    return {file: _stamp(file) for file in files}


def are_current(stamps: Mapping[str, Stamp]) -> bool:
    """Return whether files are as they were."""
    return all(_stamp(file) == stamp for file, stamp in stamps.items())


def forget() -> None:
    """Forget every page, as at the start of a process."""
    _kept.clear()


def imported_files(codes: Iterable[str]) -> set[str]:
    """Return the files under `snippets/` that these sources import, and those that these import in turn."""
    return set(map(str, project.adapter.find_imported(codes, project.root / "snippets")))


def drop_changed_modules() -> None:
    """Drop from `sys.modules` what was imported from `snippets/` and changed since, so that it is read again.

    With a module goes its whole top-level package, and each package that imports this one.
    """
    modules = dict(_snippet_modules())
    stale = {
        name.partition(".")[0] for name, file in modules.items() if _loaded.get(file, _stamp(file)) != _stamp(file)
    }
    while stale:
        users = {name.partition(".")[0] for name, file in modules.items() if _imports_any(file, stale)}
        if users <= stale:
            break
        stale |= users
    # A folder without `__init__.py` is a module without a file, and holds on to its modules by name. Notebooks, which
    # run beside the pages, import meanwhile.
    for name in [name for name in list(sys.modules) if name.partition(".")[0] in stale]:
        del sys.modules[name]
        _loaded.pop(modules.get(name, ""), None)


def _imports_any(file: str, tops: set[str]) -> bool:
    code = Path(file).read_text(encoding="utf-8") if Path(file).is_file() else ""
    return project.adapter.imports_any(code, tops)


def _snippet_modules() -> Iterator[tuple[str, str]]:
    folder = str(project.root / "snippets") + os.sep
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and file.startswith(folder):
            yield name, file


def _remember_modules() -> None:
    for _, file in _snippet_modules():
        _loaded.setdefault(file, _stamp(file))


def _stamp(file: str) -> Stamp:
    try:
        status = os.stat(file)  # noqa: PTH116 - called for hundreds of files on each rebuild
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


class Watch:
    """Collects the project's files that are opened meanwhile (through Python's audit events)."""

    def __enter__(self) -> set[str]:
        """Begin; one watch may stand inside another."""
        global _is_hooked  # noqa: PLW0603 - an audit hook is one per process and cannot be removed
        if not _is_hooked:
            listen(_on_event, ("open",))
            _is_hooked = True
        self.opened: set[str] = set()
        _watches.append(self.opened)
        return self.opened

    def __exit__(self, *_: object) -> None:
        """End."""
        _watches.pop()


def _on_event(event: str, details: tuple[Any, ...]) -> None:
    del event
    if not _watches or not isinstance(details[0], str):
        return
    path = os.path.abspath(details[0])  # noqa: PTH100 - called for every file that the process opens
    root = str(project.root) + os.sep
    if path.startswith(root) and not _SKIPPED.intersection(Path(path[len(root) :]).parts):
        for opened in _watches:
            opened.add(path)
