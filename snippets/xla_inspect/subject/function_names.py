"""The names, definitions and calling source lines of functions that JAX jits."""

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
"""The maximum number of wrappers around a function."""

_EQUINOX = 3
"""The number of arguments of the function that `equinox.filter_jit` jits."""


def open_equinox(function: Any, args: tuple[Any, ...]) -> Any:
    """Return the user's function from the arguments of the function that `equinox.filter_jit` jits; None for others."""
    if getattr(function, "__module__", "") != "equinox._jit" or len(args) != _EQUINOX:
        return None
    import jax

    try:
        leaves, tree = args[-1][0]
        inner = jax.tree.unflatten(tree, leaves)
    except Exception:  # noqa: BLE001 - another release of Equinox may hold it otherwise
        return None
    return inner if callable(inner) else None


def name_function(function: Any) -> str:
    """Return the user's name for a jitted function: `step`, `Trainer.step`, `<lambda>`, `grad(loss)`."""
    transforms = [name for wrapper in _list_wrappers(function)[:-1] if (name := _name_transform(wrapper))]
    name = _name_bare(function)
    for transform in reversed(transforms):
        name = f"{transform}({name})"
    return name


def _name_bare(function: Any) -> str:
    function = open_wrappers(function)
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or type(function).__name__
    # The functions around a nested function are not part of the name that users know.
    return str(name).rpartition("<locals>.")[2]


def name_event(function: Any) -> str:
    """Return the bare name that JAX has for a jitted function: `f`, where some events and log lines say `jit(f)`."""
    # Partial applications have no `__name__`.
    while not hasattr(function, "__name__") and isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", "<unnamed function>"))


def matches(word: str, function: Any) -> bool:
    """Return whether a user's word is a name of a function: with or without its class and transformations."""
    bare = _name_bare(function)
    return word in {name_function(function), bare, bare.rpartition(".")[2], getattr(function, "__name__", "")}


def _name_transform(wrapper: Any) -> str:
    """Return the name of the JAX transformation that created a wrapper, such as `value_and_grad`, or ""."""
    code = getattr(wrapper, "__code__", None)
    if code is None or not _is_of_jax(code.co_filename):
        return ""
    maker, nested, _ = code.co_qualname.partition(".<locals>")
    if maker == "api_boundary":
        # Most functions have an extra wrapper that shortens the tracebacks of their errors.
        inner = _read_cell(wrapper)
        return "" if inner is None or inner is wrapper else _name_transform(inner)
    return maker if nested and maker.isidentifier() and not maker.startswith("_") else ""


def _read_cell(function: Any) -> Any:
    """Return the closure variable in which JAX stores a wrapped function, or None."""
    names, cells = function.__code__.co_freevars, function.__closure__ or ()
    with suppress(ValueError):
        return next((cell.cell_contents for name, cell in zip(names, cells, strict=True) if name == "fun"), None)
    return None


def open_wrappers(function: Any) -> Any:
    """Return the innermost function under partial applications and wrappers."""
    return _list_wrappers(function)[-1]


def _list_wrappers(function: Any) -> list[Any]:
    """Return a function followed by the functions that it wraps, outermost first."""
    functions = [function]
    # The bound also ends a cycle of wrappers that refer to each other.
    for _ in range(_DEEP):
        if isinstance(function, functools.partial):
            inner = function.func
        else:
            # `functools.wraps` sets the first attribute, and bound methods have the second.
            names = ("__wrapped__", "__func__")
            inner = next(filter(None, (getattr(function, name, None) for name in names)), None) or _look_inside(
                function
            )
        if inner is None or inner is function:
            break
        function = inner
        functions.append(inner)
    return functions


def _look_inside(function: Any) -> Any:
    """Return the function stored in a wrapper object, as Flax's transformations and `jax.pmap` use, or None."""
    if inspect.isfunction(function):
        return _read_cell(function) if function.__module__ == "jax._src.pmap" else None
    if inspect.isroutine(function) or isinstance(function, type):
        return None
    inner = getattr(function, "f", None)
    return inner if callable(inner) else None


def find_definition(function: Any) -> str:
    """Return the location of a function's definition as FILE:LINE, or an empty string."""
    inner = open_wrappers(function)
    code = getattr(inner, "__code__", None) or getattr(getattr(type(inner), "__call__", None), "__code__", None)  # noqa: B004 - its code
    return f"{_name_file(code.co_filename)}:{code.co_firstlineno}" if code else ""


def is_own(function: Any) -> bool:
    """Return whether JAX itself jits a function, as it does those of `jax.numpy`.

    A public JAX function that the user jits does not count, although JAX defines it.
    """
    inner = open_wrappers(function)
    code = getattr(inner, "__code__", None)
    if code is None or not _is_of_jax(code.co_filename):
        return False
    if hasattr(function, "lower"):
        # This is a function that was already jitted and is jitted again.
        return False
    module, name = sys.modules.get(getattr(inner, "__module__", "")), getattr(inner, "__name__", "")
    return name.startswith("_") or getattr(module, name, None) is not inner


@functools.cache
def _is_of_jax(file: str) -> bool:
    import jax

    return Path(file).is_relative_to(Path(jax.__file__).parent)


def find_current_line() -> str:
    """Return the innermost source line of the user's code in this thread's stack, as FILE:LINE.

    A line outside installed packages is preferred; otherwise it is a line of any package other than JAX, or an empty
    string.
    """
    frame = sys._getframe(1)  # noqa: SLF001 - documented
    of_package = ""
    while frame is not None:
        file = frame.f_code.co_filename
        # Code that is in no file, such as that of `exec`, has a name in angle brackets.
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
    """Return a file name relative to the working folder or to the folder of installed packages."""
    parts = Path(file).parts
    for folder in ("site-packages", "dist-packages"):
        # Users who work inside an installed package see names relative to their working folder.
        if folder in parts and not Path(file).is_relative_to(Path.cwd()):
            return str(Path(*parts[parts.index(folder) + 1 :]))
    return shorten_path(file)


def takes_nothing(function: Any) -> bool:
    """Return whether a function is known to have no parameters."""
    try:
        return not inspect.signature(function).parameters
    except (TypeError, ValueError):  # some callables, such as built-in functions, have no signature
        return False
