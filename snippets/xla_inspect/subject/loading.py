"""What a subject names in the reader's code: the module is imported, and the name looked up in it."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import sysconfig
from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect.errors import InspectError
from xla_inspect.spelling import list_nearest, respell_subject, suggest_file, suggest_name

if TYPE_CHECKING:
    from types import ModuleType

FORMS = "FILE.py:FUNCTION, package.module:FUNCTION, `run SCRIPT.py ...`, a dump of XLA's, or a capture that was saved"
"""The forms of a subject, as errors and the help say them."""

_LISTED = 12
"""The most functions of a file that a message lists."""

_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


def split_name(named: str) -> tuple[str, str]:
    """Return the place and the dotted name of `FILE.py:Class.method` or `package.module:function`.

    Raises:
        InspectError: It is of neither form.
    """
    place, colon, name = named.rpartition(":")
    if not colon or not _DOTTED.fullmatch(name) or not (place.endswith(".py") or _DOTTED.fullmatch(place)):
        # A file without a name is what people forget most.
        if (meant := respell_subject(named)) != named:
            message = f"{named!r} is no subject; did you mean {meant}?"
        else:
            hint = f"; which function of it, as in {named}:NAME?" if named.endswith(".py") else ""
            message = f"{named!r} is not {FORMS}{hint}"
        raise InspectError(message)
    return place, name


def load_place(place: str) -> ModuleType:
    """Return the module that a file or a dotted name stands for, imported.

    Raises:
        InspectError: There is no such file or module.
    """
    if place.endswith(".py"):
        return load_file(Path(place))
    put_on_path(Path.cwd())
    try:
        found = importlib.util.find_spec(place)
    except ModuleNotFoundError as error:
        if not place.startswith(f"{error.name}."):
            raise
        found = None
    if found is None:
        message = f"there is no module {place!r}, from {Path.cwd()}; {_suggest_module(place)}"
        raise InspectError(message)
    return importlib.import_module(place)


def _suggest_module(place: str) -> str:
    """Return which Python file or package of the working folder a module's name comes close to, as a question."""
    beside = [path.stem for path in Path.cwd().iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()]
    if near := list_nearest(place, beside):
        return f"did you mean {near[0]}?"
    return "is it installed here, or beside the working folder?"


def find_loaded(place: str) -> ModuleType | None:
    """Return the module of a file that is imported already, under whichever name, or None."""
    path = str(Path(place).absolute())
    return next((module for module in [*sys.modules.values()] if getattr(module, "__file__", None) == path), None)


def load_file(path: Path) -> ModuleType:
    """Return the module that a file defines, with what is beside it to be imported, as when it is run.

    A file of a package is imported as part of that, so that it may import relatively.

    Raises:
        InspectError: There is no such file.
    """
    if not path.is_file():
        message = f"no file {path}{suggest_file(path)}"
        raise InspectError(message)
    path = path.absolute()
    root = find_root(path)
    put_on_path(root)
    if root != path.parent:
        inside = path.relative_to(root).with_suffix("").parts
        return importlib.import_module(".".join(inside[:-1] if inside[-1] == "__init__" else inside))
    # Under its own name, unless that is another's: a file called json.py is not what others import as json.
    taken = path.stem in sys.stdlib_module_names or path.stem in sys.modules
    return execute_file(path, f"_xla_inspect_{path.stem}" if taken else path.stem)


def find_root(path: Path) -> Path:
    """Return the folder that a file is imported from: the one that holds its outermost package, if it has any."""
    root = path.parent
    while (root / "__init__.py").is_file():
        root = root.parent
    return root


def execute_file(path: Path, name: str) -> ModuleType:
    """Return the module that a file defines, under a name of our choice.

    Raises:
        InspectError: It is no Python file.
    """
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        message = f"{path} is no Python file"
        raise InspectError(message)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def put_on_path(folder: Path) -> None:
    """Let modules of a folder be imported before installed ones, and after those of the standard library.

    A script's folder comes first of all when Python runs it, and a file `json.py` in it then breaks whoever imports
    json, this package too.
    """
    if str(folder) in sys.path:
        return
    installed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    at = next((at for at, place in enumerate(sys.path) if place in installed), len(sys.path))
    sys.path.insert(at, str(folder))


def find_named(module: ModuleType, name: str, place: str) -> Any:
    """Return what a dotted name stands for in a module.

    Raises:
        InspectError: There is no such name; the message has those that there are.
    """
    try:
        return reduce(getattr, name.split("."), module)
    except AttributeError as error:
        held = error.obj
        public = {key: getattr(held, key, None) for key in getattr(held, "__dict__", {}) if not key.startswith("_")}
        functions = sorted(key for key, value in public.items() if callable(value))
        own = [key for key in functions if _is_own(public[key], module)] or functions
        programs = [*getattr(module, "PROGRAMS", {})] if held is module else []
        what = name if held is module else f"{name} ({getattr(held, '__name__', type(held).__name__)})"
        message = (
            f"{place} has no function {what!r}; {suggest_name(str(error.name), [*programs, *own][:_LISTED], 'it has')}"
        )
        raise InspectError(message) from error


def find_listed(module: ModuleType, name: str) -> str:
    """Return under which name the PROGRAMS of a file have a function of it, or the function's own name."""
    programs, own = getattr(module, "PROGRAMS", None), getattr(module, name, None)
    entries = programs.items() if isinstance(programs, Mapping) and name not in programs and callable(own) else ()
    pairs = ((key, entry[0] if isinstance(entry, tuple) and entry else entry) for key, entry in entries)
    return next((key for key, function in pairs if getattr(function, "function", function) is own), name)


def _is_own(value: Any, module: ModuleType) -> bool:
    return getattr(value, "__module__", None) == module.__name__
