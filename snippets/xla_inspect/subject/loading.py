"""An importer of the user's modules, with look-up of the names in them."""

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

from xla_inspect import dumps
from xla_inspect.errors import InspectError
from xla_inspect.spelling import FEW, list_nearest, respell_subject, suggest_file, suggest_name

if TYPE_CHECKING:
    from types import ModuleType

FORMS = "FILE.py:FUNCTION, package.module:FUNCTION, `run SCRIPT.py ...`, a StableHLO file, an XLA dump, or a capture"
"""The forms of a subject, for error messages and the help."""

_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


def split_name(text: str) -> tuple[str, str]:
    """Return the file or module, and the dotted name in it, of `FILE.py:Class.method` or `package.module:function`.

    Raises:
        InspectError: The text has neither form.
    """
    place, colon, name = text.rpartition(":")
    if not colon or not _DOTTED.fullmatch(name) or not (place.endswith(".py") or _DOTTED.fullmatch(place)):
        if file := next(filter(_is_missing_program, (text, place)), ""):
            message = f"there is no file {file}{suggest_file(Path(file))}"
        # Users most often forget the function's name after a file.
        elif (suggestion := respell_subject(text)) != text:
            message = f"{text!r} is no subject; did you mean {suggestion}?"
        else:
            hint = f"; which function of it, as in {text}:NAME?" if text.endswith(".py") else ""
            message = f"{text!r} is not {FORMS}{hint}"
        raise InspectError(message)
    return place, name


def load_place(place: str) -> ModuleType:
    """Import the module that a file or a dotted name refers to, and return it.

    Raises:
        InspectError: There is no such file or module.
    """
    if place.endswith(".py"):
        return load_file(Path(place))
    put_on_path(Path.cwd())
    try:
        spec = importlib.util.find_spec(place)
    except ModuleNotFoundError as error:
        # The search imports the parent packages, and an import that fails inside one is an error of the user's code.
        if not place.startswith(f"{error.name}."):
            raise
        spec = None
    if spec is None and _is_missing_program(place):
        message = f"there is no file {place}{suggest_file(Path(place))}"
        raise InspectError(message)
    if spec is None:
        message = f"there is no module {place!r}, from {Path.cwd()}; {_suggest_module(place)}"
        raise InspectError(message)
    return importlib.import_module(place)


def _is_missing_program(place: str) -> bool:
    """Return whether a path has the name of a file with MLIR, and no file is there."""
    return place.lower().endswith(dumps.ENDINGS) and not Path(place).exists()


def _suggest_module(place: str) -> str:
    """Return a question for an error: whether a similar name in the working folder is meant, or if it is installed."""
    beside = [path.stem for path in Path.cwd().iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()]
    if near := list_nearest(place, beside):
        return f"did you mean {near[0]}?"
    return "is it installed here, or beside the working folder?"


def find_loaded(place: str) -> ModuleType | None:
    """Return the already imported module, under any name, whose file is at a path, or None."""
    path = str(Path(place).absolute())
    # The values are copied, because a lazy module may import others when its attributes are read.
    return next((module for module in [*sys.modules.values()] if getattr(module, "__file__", None) == path), None)


def load_file(path: Path) -> ModuleType:
    """Import a Python file, with the modules of its folder importable, and return the module.

    A file in a package is imported as part of the package, so that relative imports work.

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
    # The module gets its own name unless that is in use: a file json.py must not replace the standard library's json.
    is_taken = path.stem in sys.stdlib_module_names or path.stem in sys.modules
    return execute_file(path, f"_xla_inspect_{path.stem}" if is_taken else path.stem)


def find_root(path: Path) -> Path:
    """Return the folder to import a file from: the parent of its outermost package, or the file's own folder."""
    root = path.parent
    while (root / "__init__.py").is_file():
        root = root.parent
    return root


def execute_file(path: Path, name: str) -> ModuleType:
    """Execute a file as a module with the given name, and return the module.

    Raises:
        InspectError: The file is not a Python file.
    """
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        message = f"{path} is no Python file"
        raise InspectError(message)
    module = importlib.util.module_from_spec(spec)
    # Some code, such as `dataclasses`, looks its module up by name while the module is executed.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        # A later import must not find a module that was executed only in part.
        sys.modules.pop(name, None)
        raise
    return module


def put_on_path(folder: Path) -> None:
    """Make the modules of a folder importable before installed ones, but after the standard library.

    Python itself puts a script's folder first, and then a file `json.py` in it breaks every import of json, including
    this package's.
    """
    if str(folder) in sys.path:
        return
    installed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    at = next((at for at, place in enumerate(sys.path) if place in installed), len(sys.path))
    sys.path.insert(at, str(folder))


def find_named(module: ModuleType, name: str, place: str) -> Any:
    """Return the object that a dotted name refers to in a module.

    Raises:
        InspectError: There is no such name; the message lists the names that exist.
    """
    try:
        return reduce(getattr, name.split("."), module)
    except AttributeError as error:
        owner = error.obj
        public = {key: getattr(owner, key, None) for key in getattr(owner, "__dict__", {}) if not key.startswith("_")}
        functions = sorted(key for key, value in public.items() if callable(value))
        own = [key for key in functions if _is_own(public[key], module)] or functions
        programs = [*getattr(module, "PROGRAMS", {})] if owner is module else []
        what = name if owner is module else f"{name} ({getattr(owner, '__name__', type(owner).__name__)})"
        hint = suggest_name(str(error.name), [*programs, *own], "it has", FEW)
        message = f"{place} has no function {what!r}; {hint}"
        raise InspectError(message) from error


def find_listed(module: ModuleType, name: str) -> str:
    """Return the key of a function in a file's PROGRAMS, or the function's own name if it is not there."""
    programs, own = getattr(module, "PROGRAMS", None), getattr(module, name, None)
    entries = programs.items() if isinstance(programs, Mapping) and name not in programs and callable(own) else ()
    pairs = ((key, entry[0] if isinstance(entry, tuple) and entry else entry) for key, entry in entries)
    return next((key for key, function in pairs if getattr(function, "function", function) is own), name)


def _is_own(value: Any, module: ModuleType) -> bool:
    return getattr(value, "__module__", None) == module.__name__
