"""What a function that JAX jits is called and where it is defined, and which line of the reader's calls it."""

from __future__ import annotations

import functools
import inspect
import sys
import sysconfig
from contextlib import suppress
from pathlib import Path
from typing import Any

from xla_inspect.folders import shorten_path

_OWN = Path(__file__).parents[1]
_DEEP = 64
"""How many wrappers a function has at most."""

_EQUINOX = 3
"""How many arguments the function has that `equinox.filter_jit` jits."""


def open_equinox(function: Any, args: tuple[Any, ...]) -> Any:
    """Return the function that `equinox.filter_jit` calls, which is an argument of the one that it jits, or None."""
    if getattr(function, "__module__", "") != "equinox._jit" or len(args) != _EQUINOX:
        return None
    import jax

    try:
        leaves, tree = args[-1][0]
        found = jax.tree.unflatten(tree, leaves)
    except Exception:  # noqa: BLE001 - another release of Equinox may hold it otherwise
        return None
    return found if callable(found) else None


def name_function(function: Any) -> str:
    """Return what the reader calls a function that was jitted: `step`, `Trainer.step`, `<lambda>`, `grad(loss)`."""
    transforms = [name for each in _list_wrappers(function)[:-1] if (name := _name_transform(each))]
    name = _name_bare(function)
    for transform in reversed(transforms):
        name = f"{transform}({name})"
    return name


def _name_bare(function: Any) -> str:
    function = open_wrappers(function)
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or type(function).__name__
    return str(name).rpartition("<locals>.")[2]


def name_event(function: Any) -> str:
    """Return the name that JAX's events and its log give a function that was jitted."""
    while not hasattr(function, "__name__") and isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", "<unnamed function>"))


def matches(named: str, function: Any) -> bool:
    """Return whether a reader who writes a name means a function."""
    bare = _name_bare(function)
    return named in {name_function(function), bare, bare.rpartition(".")[2], getattr(function, "__name__", "")}


def _name_transform(wrapper: Any) -> str:
    """Return the name of the transformation of JAX's that made a wrapper, such as `value_and_grad`, or none."""
    code = getattr(wrapper, "__code__", None)
    if code is None or not _is_of_jax(code.co_filename):
        return ""
    made, nested, _ = code.co_qualname.partition(".<locals>")
    if made == "api_boundary":
        # Around most of them is what shortens the tracebacks of their errors.
        inner = _read_cell(wrapper)
        return "" if inner is None or inner is wrapper else _name_transform(inner)
    return made if nested and made.isidentifier() and not made.startswith("_") else ""


def _read_cell(function: Any) -> Any:
    """Return what a function closes over by the name that JAX gives to a function that it wraps, or None."""
    names, cells = function.__code__.co_freevars, function.__closure__ or ()
    with suppress(ValueError):
        return next((cell.cell_contents for name, cell in zip(names, cells, strict=True) if name == "fun"), None)
    return None


def open_wrappers(function: Any) -> Any:
    """Return the function under partial applications and wrappers."""
    return _list_wrappers(function)[-1]


def _list_wrappers(function: Any) -> list[Any]:
    """Return a function, what it wraps, what that wraps, and so on."""
    found = [function]
    for _ in range(_DEEP):
        if isinstance(function, functools.partial):
            inner = function.func
        else:
            names = ("__wrapped__", "__func__")
            inner = next(filter(None, (getattr(function, name, None) for name in names)), None) or _look_inside(
                function
            )
        if inner is None or inner is function:
            break
        function = inner
        found.append(inner)
    return found


def _look_inside(function: Any) -> Any:
    """Return the function that another holds, as those do that Flax's transformations and `jax.pmap` jit."""
    if inspect.isfunction(function):
        return _read_cell(function) if function.__module__ == "jax._src.pmap" else None
    if inspect.isroutine(function) or isinstance(function, type):
        return None
    held = getattr(function, "f", None)
    return held if callable(held) else None


def find_definition(function: Any) -> str:
    """Return where a function is defined, as FILE:LINE, or an empty string."""
    inner = open_wrappers(function)
    code = getattr(inner, "__code__", None) or getattr(getattr(type(inner), "__call__", None), "__code__", None)  # noqa: B004 - its code
    return f"{_name_file(code.co_filename)}:{code.co_firstlineno}" if code else ""


def is_own(function: Any) -> bool:
    """Return whether a function is one of JAX's that it jits by itself, such as those of `jax.numpy`.

    One that a reader jits is not, though JAX defines it: that is a function under the name by which JAX offers it.
    """
    inner = open_wrappers(function)
    code = getattr(inner, "__code__", None)
    if code is None or not _is_of_jax(code.co_filename):
        return False
    if hasattr(function, "lower"):
        # Jitted already, and once more.
        return False
    module, name = sys.modules.get(getattr(inner, "__module__", "")), getattr(inner, "__name__", "")
    return name.startswith("_") or getattr(module, name, None) is not inner


@functools.cache
def _is_of_jax(file: str) -> bool:
    import jax

    return Path(file).is_relative_to(Path(jax.__file__).parent)


def find_current_line() -> str:
    """Return the innermost line of the reader's own that this thread is in, as FILE:LINE.

    That is one of no installed package, else of another than JAX.
    """
    frame = sys._getframe(1)  # noqa: SLF001 - documented
    of_package = ""
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith("<") and not Path(file).is_relative_to(_OWN) and not _is_of_jax(file):
            place = f"{_name_file(file)}:{frame.f_lineno}"
            if not _is_installed(file):
                return place
            of_package = of_package or ("" if _is_standard(file) else place)
        frame = frame.f_back  # type: ignore[assignment]  # None at the end
    return of_package


@functools.cache
def _is_installed(file: str) -> bool:
    return bool({"site-packages", "dist-packages"} & {*Path(file).parts}) or _is_standard(file)


@functools.cache
def _is_standard(file: str) -> bool:
    folders = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    packages = {"site-packages", "dist-packages"} & {*Path(file).parts}
    return not packages and any(Path(file).is_relative_to(folder) for folder in folders)


def _name_file(file: str) -> str:
    """Return a file as one names it from the working folder, or from the folder of installed packages."""
    parts = Path(file).parts
    for folder in ("site-packages", "dist-packages"):
        if folder in parts and not Path(file).is_relative_to(Path.cwd()):
            return str(Path(*parts[parts.index(folder) + 1 :]))
    return shorten_path(file)
