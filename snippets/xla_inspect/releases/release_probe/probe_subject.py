"""The function of a task, imported from the user's code, with its arguments and the options of its call applied."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType


class Called:
    """A function with its arguments and settings: options of `jax.jit`, mesh and specs."""

    def __init__(
        self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], settings: Mapping[str, Any]
    ) -> None:
        """Store the arguments."""
        self.function, self.args, self.kwargs, self.settings = function, args, dict(kwargs), dict(settings)


def load_called(task: Mapping[str, Any]) -> Called:
    """Return the subject of a task from the user's code, with the options of the call applied."""
    call = find(task)
    function, args = call.function, call.args
    if task.get("vmap"):
        function, args = map_over(function, args, task["vmap"])
    if task.get("grad"):
        function = differentiate(function)
    settings = {**call.settings, **task.get("jit", {})}
    if task.get("mesh"):
        settings["mesh"] = task["mesh"]
    return Called(function, args, call.kwargs, settings)


def find(task: Mapping[str, Any]) -> Called:
    """Return the function that a task names, or an entry of its file's PROGRAMS, with its arguments."""
    module, name = load_module(task), task["name"]
    listed = getattr(module, "PROGRAMS", {})
    if name in listed:
        entry = listed[name]
        function, example = entry if isinstance(entry, tuple) else (entry.function, entry.example)
        settings = {**getattr(module, "ARGUMENTS", {}), **getattr(entry, "arguments", {})}
        return Called(function, tuple(example), {}, settings)
    function = reduce(getattr, name.split("."), module)
    if isinstance(function, type):
        function = function()
    settings = dict(getattr(module, "ARGUMENTS", {}))
    if task.get("layout"):
        settings = dict(module.LAYOUTS[task["layout"]])
    if task.get("args") is not None:
        return Called(function, tuple(make_shape(*shape) for shape in task["args"]), {}, settings)
    if task.get("args_from"):
        arguments = make_arguments(task)
        return Called(function, arguments if isinstance(arguments, tuple) else (arguments,), {}, settings)
    return Called(function, tuple(getattr(module, "EXAMPLE", ())), getattr(module, "EXAMPLE_KWARGS", {}), settings)


def load_module(task: Mapping[str, Any]) -> ModuleType:
    """Import and return a task's module: a file under its own name unless that is in use, or a module of a package."""
    if not task["file"]:
        return importlib.import_module(task["module"])
    # A file in a package is imported as part of the package, so that relative imports work.
    if task["module"]:
        return importlib.import_module(task["module"])
    path = Path(task["file"])
    # Python 3.9 has no list of the standard library's modules.
    is_taken = path.stem in sys.modules or path.stem in getattr(sys, "stdlib_module_names", ())
    name = f"_xla_inspect_{path.stem}" if is_taken else path.stem
    spec = importlib.util.spec_from_file_location(name, str(path))
    assert spec and spec.loader  # noqa: PT018, S101 - it is a Python file
    module = importlib.util.module_from_spec(spec)
    # Some code, such as `dataclasses`, looks its module up by name while the module is executed.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def make_shape(dtype: str, sizes: Sequence[int]) -> Any:
    """Return an abstract argument with a type and a shape, where `key` is a PRNG key."""
    import jax
    import jax.numpy as jnp

    if dtype.startswith("key"):
        return jax.ShapeDtypeStruct(tuple(sizes), jax.eval_shape(lambda: jax.random.key(0)).dtype)
    return jax.ShapeDtypeStruct(tuple(sizes), jnp.dtype(getattr(jnp, dtype, dtype)))


def make_arguments(task: Mapping[str, Any]) -> Any:
    """Return the shapes of the values that a user function returns, or the values if some are not arrays."""
    import jax

    source = {**task, **task["args_from"]}
    make: Any = reduce(getattr, source["name"].split("."), load_module(source))
    try:
        return jax.eval_shape(make)
    except TypeError:
        # `jax.eval_shape` rejects results that are not arrays, so the function has to run.
        return make()


def map_over(function: Any, args: tuple[Any, ...], size: int) -> tuple[Any, tuple[Any, ...]]:
    """Return a function mapped over a batch dimension, and the shapes of its arguments with that dimension in front."""
    import jax
    import jax.numpy as jnp

    def widen(leaf: Any) -> Any:
        return jax.ShapeDtypeStruct((size, *jnp.shape(leaf)), getattr(leaf, "dtype", None) or jnp.result_type(leaf))

    return _named_as(jax.vmap(function), function), jax.tree_util.tree_map(widen, args)


def differentiate(function: Any, refuse: Callable[[str], Exception] = ValueError) -> Any:
    """Return a function that computes the gradient of another one with respect to its first argument.

    Results that are not one scalar are summed, without those that are not floats.

    Args:
        function: The function.
        refuse: Creates the error for a function without a float result, from a description of the problem.
    """
    import jax
    import jax.numpy as jnp

    def total(*args: Any, **kwargs: Any) -> Any:
        results = jax.tree_util.tree_leaves(function(*args, **kwargs))
        floats = [leaf for leaf in results if jnp.issubdtype(jnp.result_type(leaf), jnp.inexact)]
        if not floats:
            kinds = ", ".join(sorted({str(jnp.result_type(leaf)) for leaf in results})) or "nothing"
            why = f"returns {kinds}; a gradient needs a result of floats"
            raise refuse(why)
        # A scalar loss is differentiated directly; any other result is summed first.
        if len(results) == 1 and not jnp.shape(floats[0]):
            return floats[0]
        return sum(jnp.sum(leaf) for leaf in floats)

    # The first argument may contain integers, which `jax.grad` rejects by default.
    return _named_as(jax.grad(total, allow_int=True), function)


def _named_as(function: Any, original: Any) -> Any:
    function.__name__ = getattr(original, "__name__", type(original).__name__)
    # The names of the arguments are read from the original function.
    function.__wrapped__ = original
    return function
