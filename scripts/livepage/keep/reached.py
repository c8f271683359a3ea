"""The files of the project's tool packages that a page depends on.

The packages stay loaded between pages, so their imports say nothing about one page. Instead, the interpreter reports
each function of the packages that runs. The names in a function that ran lead to the constants and classes that it
uses, and to the modules that define them. What these modules use when they are imported counts too.
"""

from __future__ import annotations

import os
import sys
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Self

from livepage.keep.inputs import hash_file, stamp_folder
from livepage.keep.module_names import ModuleNames, read_names
from livepage.read import project

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from types import CodeType, FrameType, ModuleType

_TOOL = sys.monitoring.OPTIMIZER_ID
_EVENT = sys.monitoring.events.PY_START


class Reach:
    """A recorder of the functions of the tool packages that run inside a `with` block.

    Values that the packages cached for an earlier page are forgotten first, so that the code that computes them runs.
    """

    def __enter__(self) -> Self:
        """Start recording."""
        for module in _list_loaded():
            _forget_cached(module)
        self._names: dict[str, set[str]] = {}
        folders = list_tool_folders()

        def note(code: CodeType, _offset: int) -> object:
            if code.co_filename.startswith(folders):
                if _is_import(sys._getframe(1), folders):  # noqa: SLF001 - no other way to the caller
                    return None  # so that a later call is reported
                names = self._names.setdefault(code.co_filename, set())
                names.update(code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
            return sys.monitoring.DISABLE

        if sys.monitoring.get_tool(_TOOL) is None:
            sys.monitoring.use_tool_id(_TOOL, "livepage functions")
        sys.monitoring.register_callback(_TOOL, _EVENT, note)
        sys.monitoring.set_events(_TOOL, _EVENT)
        # Each function is reported once, so those that ran for an earlier page must be enabled again.
        sys.monitoring.restart_events()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop recording."""
        sys.monitoring.set_events(_TOOL, 0)
        sys.monitoring.register_callback(_TOOL, _EVENT, None)

    @property
    def names(self) -> Mapping[str, set[str]]:
        """The names in the functions that ran, by file."""
        return self._names


def find_reached(
    names: Mapping[str, set[str]], codes: Iterable[str], modules: Iterable[str], children: Iterable[str] = ()
) -> set[str]:
    """Return the files of the tool packages that a page depends on.

    Args:
        names: The names in the functions that ran, by file, as from a `Reach`.
        codes: The page's code, all of whose imports count.
        modules: The files of the loaded modules; all imports of those outside the packages count too.
        children: The arguments of the programs that the page started; a package counts whole if its command ran, and a
            program in Python counts with its imports.
    """
    folders, modules, children = list_tool_folders(), [*modules], [*children]
    search = _Search(names, [file for file in modules if file.startswith(folders)])
    for code in (*codes, *(Path(file).read_text(encoding="utf-8") for file in modules if _is_apart(file, folders))):
        search.enter(code)
    search.finish()
    if any(Path(text).name.replace("-", "_") in project.adapter.packages for text in children):
        for folder in folders:
            search.add_code(folder, "**/*.py")
    return search.files | list_imported(children)


class _Search:
    """The search for the files that functions depend on, from the names in these functions."""

    def __init__(self, names: Mapping[str, set[str]], loaded: Iterable[str]) -> None:
        """Start with the names in the functions of each file, and the files of all loaded modules of the packages."""
        self.files: set[str] = set()
        self._used = {file: {*used} for file, used in names.items()}
        self._waiting = [*self._used]
        self._attributes: set[str] = set()
        self._loaded = {file: _read(file) for file in loaded}
        self._list_entries = cache(lambda folder: {*os.listdir(folder)})  # noqa: PTH208 - names
        self._stamps = stamp_folder(str(_find_folder()))

    def enter(self, source: str) -> None:
        """Follow all imports of a source that is not part of the packages."""
        try:
            names = read_names(source)
        except SyntaxError:  # the source is of another language
            return
        self._attributes.update(filter(_is_shared, names.attributes))
        for dotted in names.imports.values():
            self._follow(dotted, names.attributes)

    def add_code(self, place: str, pattern: str) -> None:
        """Add all files that a file, or the files in a folder that match a pattern, depend on."""
        self.files |= _list_code(place, pattern, self._stamps)

    def finish(self) -> None:
        """Follow all names until nothing new is found."""
        while self._waiting:
            while self._waiting:
                self._visit(self._waiting.pop())
            # A name after a dot may be a constant of a module that the code obtained at run time.
            self._waiting += [file for file, names in self._loaded.items() if names.values & self._attributes]
            self._waiting = [file for file in self._waiting if file not in self.files]

    def _visit(self, file: str) -> None:
        if file in self.files:
            return
        self.files.add(file)
        names = self._loaded.get(file) or _read(file)
        used = self._used.get(file, set()) | names.first
        for name, dotted in names.imports.items():
            if name in used:
                self._follow(dotted, used, runs=name in names.first)
        own = names.imports.keys() | names.values | names.functions
        self._attributes.update(filter(_is_shared, used - own))
        folder = os.path.dirname(file)  # noqa: PTH120 - called for every module
        entries = self._list_entries(folder)
        beside = (f"{folder}/{text}" for text in names.strings if text.partition("/")[0] in entries)
        self.files |= {path for path in beside if os.path.isfile(path) and not path.endswith(".py")}  # noqa: PTH113 - as above
        module = _name_module(file)
        for lasting, place in project.adapter.lasting.items():
            owner, _, name = lasting.rpartition(".")
            if owner == module and name in used:
                self.add_code(f"{_find_folder() / module.partition('.')[0] / place}", "*.py")

    def _follow(self, dotted: str, used: set[str] | frozenset[str], *, runs: bool = False) -> None:
        """Add the file that defines a name, unless the name is a function that is reported when it runs.

        Args:
            dotted: The name, such as `package.module.NAME`, or that of a module.
            used: The names beside it, some of which may be names in this module.
            runs: Whether the name is used when a module is imported, which the interpreter reports to no page.
        """
        file, name = _locate(dotted)
        if not file:
            return
        names = _read(file)
        if not name:
            if names.values & used:
                self._waiting.append(file)
            for other in names.imports.keys() & used if file.endswith("__init__.py") else ():
                self._follow(names.imports[other], used)
        elif name in names.functions and runs:
            self._used.setdefault(file, set()).update(names.imports)
            self._waiting.append(file)
        elif name in names.values:
            self._waiting.append(file)
        elif name in names.imports:
            self._follow(names.imports[name], used, runs=runs)


def list_tool_folders() -> tuple[str, ...]:
    """Return the folders of the tool packages, which stay loaded between pages, each with a separator at its end."""
    return tuple(f"{_find_folder() / package}{os.sep}" for package in project.adapter.packages)


def list_imported(codes: Iterable[Path | str]) -> set[str]:
    """Return the files of the project that these files or sources import, directly or indirectly."""
    starts = [*codes]
    return set(map(str, project.adapter.find_imported(starts, _find_folder()))) if starts else set()


def _is_apart(file: str, folders: tuple[str, ...]) -> bool:
    """Return whether a module is one of the project's outside its tool packages."""
    return file.startswith(f"{_find_folder()}{os.sep}") and not file.startswith(folders)


def _is_shared(name: str) -> bool:
    """Return whether a name can be that of a constant or class that other modules use."""
    return name[0].isupper()


def _is_import(frame: FrameType | None, folders: tuple[str, ...]) -> bool:
    """Return whether a function runs only because a module of the packages is being imported."""
    while frame:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(folders):
            return True
        frame = frame.f_back
    return False


def _find_folder() -> Path:
    """Return the folder of the packages."""
    return project.root / "snippets"


def _list_loaded() -> Iterator[ModuleType]:
    """Yield the loaded modules of the packages."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in project.adapter.packages and getattr(module, "__file__", None):
            yield module


def _forget_cached(module: ModuleType) -> None:
    """Clear the caches of a module's functions and methods, and the cached properties of its own objects."""
    for name, value in list(vars(module).items()):
        if getattr(value, "__module__", None) == module.__name__:
            _clear(f"{module.__name__}.{name}", value)
            for inner, method in list(vars(value).items()) if isinstance(value, type) else ():
                _clear(f"{module.__name__}.{name}.{inner}", getattr(method, "__func__", method))
        members = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
        for item in (value, *members):
            values = getattr(item, "__dict__", None)
            if isinstance(values, dict) and type(item).__module__.partition(".")[0] in project.adapter.packages:
                for attribute in [key for key in values if isinstance(getattr(type(item), key, None), cached_property)]:
                    del values[attribute]


def _clear(name: str, function: object) -> None:
    """Clear the cache of a function, given by its dotted name, unless it lasts."""
    clear = getattr(function, "cache_clear", None)
    if clear and name not in project.adapter.lasting:
        clear()


def _name_module(file: str) -> str:
    """Return the dotted name of a module."""
    return file.removeprefix(f"{_find_folder()}{os.sep}").removesuffix(".py").replace(os.sep, ".")


@lru_cache(maxsize=100)
def _list_code(place: str, pattern: str, _stamps: int) -> frozenset[str]:
    """Return the files that `_Search.add_code` adds; they are searched again if a file of the packages has changed."""
    path = Path(place)
    return frozenset(list_imported(path.glob(pattern) if path.is_dir() else [path]))


def _locate(dotted: str) -> tuple[str, str]:
    """Return the file of the module in a dotted name and the name in it, or empty strings for another package."""
    parts = dotted.split(".")
    if parts[0] not in project.adapter.packages:
        return "", ""
    place = _find_folder() / parts[0]
    if not place.is_dir():  # the package is installed elsewhere, and so not part of the project
        return "", ""
    for at, part in enumerate(parts[1:], 1):
        if (place / part).is_dir():
            place /= part
        elif (file := place / f"{part}.py").is_file():
            return str(file), ".".join(parts[at + 1 :])
        else:
            return str(place / "__init__.py"), ".".join(parts[at:])
    return str(place / "__init__.py"), ""


def _read(file: str) -> ModuleNames:
    """Return the names in a module, including those that it imports lazily."""
    return _read_version(file, hash_file(file))


@lru_cache(maxsize=5000)
def _read_version(file: str, _hash: str) -> ModuleNames:
    """Return the names in a module, which is only read again if its hash differs."""
    return read_names(Path(file).read_text(encoding="utf-8"), lazily=file.endswith("__init__.py"))
