"""The files of a project that code depends on: its direct and indirect imports, and data files next to them.

This module imports only the standard library, so that any cache can use it.
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
    """Return the files that code depends on, including the files to start from.

    Imports count everywhere: also inside functions and for type checkers, since the code receives objects of these
    types. A package's `__init__.py` counts if a name is imported from the package itself, but not if a module in it is
    imported. If the package imports names lazily (see `lazy_names`), only the used names count, or all of them if the
    package itself is imported. Data counts if a string in the code is its name: a file, or a folder without Python,
    next to the module.

    Args:
        starts: Files, or the text of code.
        places: The files or folders of importable names, by the start of the dotted name, as from `list_places`.
        whole: The places of which every file counts once one is imported, since they compute names of modules or data.
    """
    waiting, files, visited = list(starts), set[Path](), set[str]()
    list_beside = cache(_list_beside)  # several files share a folder
    while waiting:
        start = waiting.pop()
        if isinstance(start, str):
            names = {_shorten(name, whole) for name in list_imports(start)} - visited
            visited |= names
            waiting += (file for name in names for file in _locate(name, places, whole))
        elif start not in files:
            files.add(start)
            if start.suffix == ".py":
                code = start.read_text(encoding="utf-8")
                waiting += (code, *_list_data(code, list_beside(start.parent)))
    return frozenset(files)


def list_places(folder: Path) -> dict[str, Path]:
    """Return the files and folders that can be imported from a folder on the path, by name."""
    paths = folder.iterdir() if folder.is_dir() else ()
    return {path.stem: path for path in paths if path.suffix == ".py" or (path.is_dir() and path.name.isidentifier())}


def hash_files(files: Iterable[Path], root: Path) -> str:
    """Return a hash of files and of their paths below a folder, independent of the system's line endings."""
    digest = hashlib.sha256()
    for path in sorted(files):
        # The zero byte separates a path from the contents, since a hash of both joined would not show where one ends.
        digest.update(path.relative_to(root).as_posix().encode() + b"\0")
        digest.update(path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()


def hash_meaning(files: Iterable[Path], root: Path) -> str:
    """Return a hash of files that comments, docstrings and layout of Python code do not change; see `hash_files`."""
    digest = hashlib.sha256()
    for path in sorted(files):
        content = path.read_bytes().replace(b"\r\n", b"\n")
        digest.update(path.relative_to(root).as_posix().encode() + b"\0")
        digest.update((_dump_code(content) if path.suffix == ".py" else content) + b"\0")
    return digest.hexdigest()


def _dump_code(content: bytes) -> bytes:
    """Return the syntax tree of Python code without docstrings, or the code itself if it is invalid."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return content
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            body[:] = [line for line in body if not _is_docstring(line)]
    return ast.dump(tree).encode()


def _is_docstring(statement: ast.stmt) -> bool:
    """Return whether a statement is only a string, which is the docstring of what contains or precedes it."""
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False


def list_imports(code: str) -> tuple[str, ...]:
    """Return the dotted names that code imports, such as `a.b.c` for `from a.b import c`; none for invalid Python."""
    return _read(code)[0]


@lru_cache(maxsize=2000)
def _read(code: str) -> tuple[tuple[str, ...], frozenset[str], Mapping[str, str]]:
    """Return the names that code imports, its strings that could be file names, and its lazily imported names."""
    names, strings, lazy = list[str](), set[str](), dict[str, str]()
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return (), frozenset(), {}
    # Lazy imports count only if their names are used, so they are removed before the other imports are read.
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
    """Return whether a statement contains the imports that a package performs when a name is first used."""
    return isinstance(statement, ast.If) and any("lazy_names(" in ast.unparse(line) for line in statement.orelse)


def _shorten(name: str, whole: Collection[str]) -> str:
    """Return a dotted name, or the place that contains it if this place counts as a whole."""
    return next((place for place in whole if name.startswith(f"{place}.")), name)


def _locate(name: str, places: Mapping[str, Path], whole: Collection[str]) -> Iterator[Path]:
    """Yield the files that importing a dotted name reads, or nothing if no place contains it."""
    key = next((key for key in (name, *_list_parents(name)) if key in places), None)
    if key is None:
        return
    place = places[key]
    if key in whole and place.is_dir():
        yield from _walk(place)
        return
    attribute = ""
    for part in name.removeprefix(key).split(".")[1:]:
        if (place / f"{part}.py").is_file():
            place /= f"{part}.py"
        elif (place / part).is_dir():
            place /= part
        else:
            attribute = part
            break
    # A dotted name may end in a module, a package, or a name inside of one of them.
    for file in (place, place / "__init__.py"):
        if file.is_file():
            yield file
            lazy = _read(file.read_text(encoding="utf-8"))[2] if file.name == "__init__.py" else {}
            for inner in lazy.values() if not attribute else [lazy[attribute]] if attribute in lazy else ():
                yield from _locate(inner, places, whole)


def _list_parents(name: str) -> list[str]:
    """Return `a.b` and `a` for `a.b.c`."""
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(len(parts) - 1, 0, -1)]


def _list_data(code: str, beside: Mapping[str, Path]) -> Iterator[Path]:
    """Yield the data files next to code whose names are strings in it, including files in folders without Python."""
    for name in _read(code)[1] & beside.keys():
        path = beside[name]
        if path.is_file():
            yield path
        # A folder with Python next to the module is code, which counts only if it is imported.
        elif not any(path.rglob("*.py")):
            yield from _walk(path)


def _list_beside(folder: Path) -> dict[str, Path]:
    """Return the entries of a folder that are not Python files, by name."""
    return {path.name: path for path in folder.iterdir() if path.suffix != ".py"}


def _walk(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
