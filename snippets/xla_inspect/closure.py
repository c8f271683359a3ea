"""Which files of a project a piece of code depends on: those that it imports, directly or not, and data beside them.

Imports the standard library alone and nothing of this package, so that whatever keeps a result can use it.
"""

from __future__ import annotations

import ast
import hashlib
import re
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

_FILE_NAME = re.compile(r"[\w-][\w.-]{0,99}")


def find_files(
    starts: Iterable[Path | str], places: Mapping[str, Path], *, whole: Collection[str] = ()
) -> frozenset[Path]:
    """Return the files that code depends on, those among them that it starts from.

    An import counts wherever it stands: in a function too, and for a type checker, since objects of that type are what
    the code is given. A package's `__init__.py` counts where something is taken from the package itself, and not where
    a module in it is imported; of the names that it imports lazily (see `lazy_names`), only those that are taken, or
    all of them where the package itself is. Data counts where a string of the code names it: a file, or a folder
    without Python, beside the module.

    Args:
        starts: Files, or the text of code.
        places: The start of a dotted name -> the file or folder that is imported under it, as of `list_places`.
        whole: Those of the places of which every file counts once one is imported: they find modules or data by names
            that they put together.
    """
    waiting, files, known = list(starts), set[Path](), set[str]()
    list_beside = cache(_list_beside)  # what lies beside one file lies beside others
    while waiting:
        start = waiting.pop()
        if isinstance(start, str):
            names = {_shorten(name, whole) for name in list_imports(start)} - known
            known |= names
            waiting += (file for name in names for file in _locate(name, places, whole))
        elif start not in files:
            files.add(start)
            if start.suffix == ".py":
                code = start.read_text(encoding="utf-8")
                waiting += (code, *_list_data(code, list_beside(start.parent)))
    return frozenset(files)


def list_places(folder: Path) -> dict[str, Path]:
    """Return what can be imported where a folder is on the path, by name: files and folders, packages or not."""
    paths = folder.iterdir() if folder.is_dir() else ()
    return {path.stem: path for path in paths if path.suffix == ".py" or (path.is_dir() and path.name.isidentifier())}


def hash_files(files: Iterable[Path], root: Path) -> str:
    """Return a hash of files and of their names below a folder, the same on a system with other line ends."""
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0")
        digest.update(path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()


def list_imports(code: str) -> tuple[str, ...]:
    """Return the dotted names that code imports: `a.b.c` for `from a.b import c`; none where it is no Python."""
    return _read(code)[0]


@lru_cache(maxsize=2000)
def _read(code: str) -> tuple[tuple[str, ...], frozenset[str], Mapping[str, str]]:
    """Return the names that code imports, the strings in it that could name a file, and what it imports lazily."""
    names, strings, lazy = list[str](), set[str](), dict[str, str]()
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return (), frozenset(), {}
    for block in filter(_is_lazy, [*tree.body]):
        tree.body.remove(block)
        for node in ast.walk(block):
            if isinstance(node, ast.ImportFrom):
                lazy |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                names += (alias.name for alias in node.names)
            case ast.ImportFrom(module=str(module), level=0):
                names += (f"{module}.{alias.name}" for alias in node.names)
            case ast.Constant(value=str(text)) if _FILE_NAME.fullmatch(text):
                strings.add(text)
    return tuple(dict.fromkeys(names)), frozenset(strings), lazy


def _is_lazy(statement: ast.stmt) -> bool:
    """Return whether a statement holds the imports that a package makes when a name is first used."""
    return isinstance(statement, ast.If) and any("lazy_names(" in ast.unparse(line) for line in statement.orelse)


def _shorten(name: str, whole: Collection[str]) -> str:
    """Return a dotted name, or the place that it lies at where that counts whole."""
    return next((place for place in whole if name.startswith(f"{place}.")), name)


def _locate(name: str, places: Mapping[str, Path], whole: Collection[str]) -> Iterator[Path]:
    """Yield the files that importing a dotted name reads: none where it lies at none of the places."""
    key = next((key for key in (name, *_list_parents(name)) if key in places), None)
    if key is None:
        return
    place = places[key]
    if key in whole and place.is_dir():
        yield from _walk(place)
        return
    taken = ""
    for part in name.removeprefix(key).split(".")[1:]:
        if (place / f"{part}.py").is_file():
            place /= f"{part}.py"
        elif (place / part).is_dir():
            place /= part
        else:
            taken = part
            break
    for file in (place, place / "__init__.py"):
        if file.is_file():
            yield file
            lazy = _read(file.read_text(encoding="utf-8"))[2] if file.name == "__init__.py" else {}
            for inner in lazy.values() if not taken else [lazy[taken]] if taken in lazy else ():
                yield from _locate(inner, places, whole)


def _list_parents(name: str) -> list[str]:
    """Return `a.b` and `a` for `a.b.c`."""
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(len(parts) - 1, 0, -1)]


def _list_data(code: str, beside: Mapping[str, Path]) -> Iterator[Path]:
    """Yield the files, or the files of folders without Python, that strings of code name and that lie beside it."""
    for name in _read(code)[1] & beside.keys():
        path = beside[name]
        if path.is_file():
            yield path
        elif not any(path.rglob("*.py")):
            yield from _walk(path)


def _list_beside(folder: Path) -> dict[str, Path]:
    """Return what a folder holds besides Python, by name."""
    return {path.name: path for path in folder.iterdir() if path.suffix != ".py"}


def _walk(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
