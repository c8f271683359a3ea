"""The function that a task names, found in the reader's code with its arguments, and called as the options say."""

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
    """A function, what it is called with, and how: options of `jax.jit`, mesh and specs."""

    def __init__(
        self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], settings: Mapping[str, Any]
    ) -> None:
        """Keep them."""
        self.function, self.args, self.kwargs, self.settings = function, args, dict(kwargs), dict(settings)


def load(task: Mapping[str, Any]) -> Called:
    """Return what a task is about, found in the reader's code, called as the options say."""
    called = find(task)
    function, args = called.function, called.args
    if task.get("vmap"):
        function, args = map_over(function, args, task["vmap"])
    if task.get("grad"):
        function = differentiate(function)
    settings = {**called.settings, **task.get("jit", {})}
    if task.get("mesh"):
        settings["mesh"] = task["mesh"]
    return Called(function, args, called.kwargs, settings)


def find(task: Mapping[str, Any]) -> Called:
    """Return the function that a task names, or one that its file lists, with its arguments."""
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
        return Called(function, tuple(make_shape(*each) for each in task["args"]), {}, settings)
    if task.get("args_from"):
        made = make_arguments(task)
        return Called(function, made if isinstance(made, tuple) else (made,), {}, settings)
    return Called(function, tuple(getattr(module, "EXAMPLE", ())), getattr(module, "EXAMPLE_KWARGS", {}), settings)


def load_module(task: Mapping[str, Any]) -> ModuleType:
    """Return the module of a task: a file's, under its own name unless that is another's, or one of a package."""
    if not task["file"]:
        return importlib.import_module(task["module"])
    if task["module"]:
        return importlib.import_module(task["module"])
    path = Path(task["file"])
    taken = path.stem in sys.modules or path.stem in getattr(sys, "stdlib_module_names", ())
    name = f"_xla_inspect_{path.stem}" if taken else path.stem
    spec = importlib.util.spec_from_file_location(name, str(path))
    assert spec and spec.loader  # noqa: PT018, S101 - it is a Python file
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def make_shape(dtype: str, sizes: Sequence[int]) -> Any:
    """Return an argument of a type and a shape, where `key` is a PRNG key."""
    import jax
    import jax.numpy as jnp

    if dtype.startswith("key"):
        return jax.ShapeDtypeStruct(tuple(sizes), jax.eval_shape(lambda: jax.random.key(0)).dtype)
    return jax.ShapeDtypeStruct(tuple(sizes), jnp.dtype(getattr(jnp, dtype, dtype)))


def make_arguments(task: Mapping[str, Any]) -> Any:
    """Return the shapes of what a function of the reader's makes."""
    import jax

    source = {**task, **task["args_from"]}
    make: Any = reduce(getattr, source["name"].split("."), load_module(source))
    try:
        return jax.eval_shape(make)
    except TypeError:
        # What is no array is told from the shapes of arrays only where the function runs.
        return make()


def map_over(function: Any, args: tuple[Any, ...], size: int) -> tuple[Any, tuple[Any, ...]]:
    """Return a function mapped over a batch of a size, and its arguments with that dimension before theirs."""
    import jax
    import jax.numpy as jnp

    def widen(leaf: Any) -> Any:
        return jax.ShapeDtypeStruct((size, *jnp.shape(leaf)), getattr(leaf, "dtype", None) or jnp.result_type(leaf))

    return _named_as(jax.vmap(function), function), jax.tree_util.tree_map(widen, args)


def differentiate(function: Any, refuse: Callable[[str], Exception] = ValueError) -> Any:
    """Return the gradient of a function by its first argument, of the sum where its result is no single number.

    Args:
        function: The function.
        refuse: What makes the error of a function without a result of floats, given what is wrong.
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
        # A loss is a number; of anything else the sum is differentiated.
        if len(results) == 1 and not jnp.shape(floats[0]):
            return floats[0]
        return sum(jnp.sum(leaf) for leaf in floats)

    return _named_as(jax.grad(total, allow_int=True), function)


def _named_as(function: Any, original: Any) -> Any:
    function.__name__ = getattr(original, "__name__", type(original).__name__)
    return function
