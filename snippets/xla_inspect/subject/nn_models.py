"""Models of Flax, Equinox and Haiku as functions of arrays, and the recognition of other frameworks' models."""

from __future__ import annotations

import inspect
import logging
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

log = logging.getLogger(__name__)
_ROOTS = {"keras": "keras", "torch.nn.modules.module": "torch", "tensorflow": "tensorflow"}

type Call = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function and its positional arguments."""


def find_framework(model: Any) -> str:
    """Return `torch`, `keras` or `tensorflow` for a model, by the modules of its classes; else an empty string."""
    modules = [kind.__module__ for kind in (model if isinstance(model, type) else type(model)).__mro__]
    roots = {*modules} | {module.partition(".")[0] for module in modules}
    # A model of Keras is also one of PyTorch or TensorFlow if that is its backend, so the order matters.
    return next((framework for root, framework in _ROOTS.items() if root in roots), "")


def as_function(model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call | None:
    """Return the function that a model computes and its arguments, parameters first, or None for other objects.

    Parameters that a model would initialize are not computed; only their shapes are.
    """
    for find in (_flax_linen, _flax_nnx, _haiku, _equinox):
        if call := find(model, args, kwargs):
            return call
    return None


def _flax_linen(model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call | None:
    # A model can exist only if its library is imported, so no function here needs to import one.
    linen = sys.modules.get("flax.linen")
    if linen is None or not isinstance(model, linen.Module):
        return None
    import jax

    # Only the shapes matter, so any key will do.
    keys = {name: jax.random.key(0) for name in ("params", "dropout")}
    variables = jax.eval_shape(lambda: model.init(keys, *_zeros(args), **kwargs))

    def apply(variables: Any, *args: Any, **kwargs: Any) -> Any:
        return model.apply(variables, *args, rngs={"dropout": jax.random.key(0)}, **kwargs)

    return _named(apply, model), (variables, *args)


def _flax_nnx(model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call | None:  # noqa: ARG001 - those of the others
    nnx = sys.modules.get("flax.nnx")
    if nnx is None or not isinstance(model, nnx.Module):
        return None
    graph, state = nnx.split(model)

    def apply(state: Any, *args: Any, **kwargs: Any) -> Any:
        return nnx.merge(graph, state)(*args, **kwargs)

    return _named(apply, model), (state, *args)


def jit_as_nnx(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Callable[..., Any]:
    """Return a function wrapped in `nnx.jit` if an argument is a `flax.nnx` object; else the function itself.

    `jax.jit` would discard the function's updates of the object, and with them all computation that only they need.
    """
    nnx = sys.modules.get("flax.nnx")
    if nnx is None or hasattr(function, "lower") or not callable(function):
        return function
    import jax

    # The base class has another name in older releases of Flax.
    kind = getattr(nnx, "Pytree", None) or nnx.Object
    leaves = jax.tree.leaves((args, dict(kwargs)), is_leaf=lambda leaf: isinstance(leaf, kind))
    if not any(isinstance(leaf, kind) for leaf in leaves):
        return function
    name = getattr(function, "__name__", type(function).__name__)
    log.info("tracing %s as nnx.jit does, because it takes an object of flax.nnx", name)
    jitted: Callable[..., Any] = nnx.jit(function)
    return jitted


def _haiku(model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call | None:
    haiku = sys.modules.get("haiku")
    if haiku is None or not isinstance(model, haiku.Transformed | haiku.TransformedWithState):
        return None
    import jax

    state = jax.eval_shape(lambda: model.init(jax.random.key(0), *_zeros(args), **kwargs))
    first = state if isinstance(model, haiku.TransformedWithState) else (state,)
    # `haiku.without_apply_rng` removes this argument.
    keys = (jax.random.key(0),) if "rng" in inspect.signature(model.apply).parameters else ()

    def apply(*values: Any, **kwargs: Any) -> Any:
        return model.apply(*values[: len(first)], *keys, *values[len(first) :], **kwargs)

    return _named(apply, model), (*first, *args)


def _equinox(model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call | None:  # noqa: ARG001 - those of the others
    equinox = sys.modules.get("equinox")
    # `equinox.filter_jit` returns an Equinox module too, which is treated as a jitted function.
    if equinox is None or not isinstance(model, equinox.Module) or hasattr(model, "lower"):
        return None
    arrays, rest = equinox.partition(model, equinox.is_array)

    def apply(arrays: Any, *args: Any, **kwargs: Any) -> Any:
        return equinox.combine(arrays, rest)(*args, **kwargs)

    return _named(apply, model), (arrays, *args)


def _zeros(args: tuple[Any, ...]) -> Any:
    """Return arguments with zeros (or a fixed PRNG key) in place of shapes; `jax.eval_shape` allocates none of them."""
    import jax
    import jax.numpy as jnp

    def fill(leaf: Any) -> Any:
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return leaf
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.split(jax.random.key(0), leaf.shape) if leaf.shape else jax.random.key(0)
        return jnp.zeros(leaf.shape, leaf.dtype)

    return jax.tree.map(fill, args)


def _named(apply: Callable[..., Any], model: Any) -> Callable[..., Any]:
    # JAX names the compiled program after the function.
    apply.__name__ = apply.__qualname__ = type(model).__name__.lower()
    return apply


def _is_number(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") or isinstance(leaf, bool | int | float | complex)


def hold_rest(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    static: Collection[int] = (),
    is_array: Callable[[Any], bool] = _is_number,
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return a function in which all values that are no arrays or numbers are bound, and its remaining arguments.

    Each argument keeps its position: one that mixes arrays and other values becomes the list of its arrays. A jitted
    function is returned as it is.

    Args:
        function: The function.
        args: Its positional arguments.
        static: The numbers of the arguments to leave unchanged.
        is_array: Returns whether a leaf is left unbound; by default arrays, shapes and Python numbers are.
    """
    import jax

    # A jitted function has its own record of static arguments.
    if hasattr(function, "trace") and hasattr(function, "lower"):
        return function, args
    rest: dict[int, tuple[Any, list[Any]]] = {}
    traced = list(args)
    for number, argument in enumerate(args):
        leaves, tree = jax.tree.flatten(argument)
        if number in static or all(map(is_array, leaves)):
            continue
        rest[number] = tree, [_ARRAY if is_array(leaf) else leaf for leaf in leaves]
        traced[number] = [leaf for leaf in leaves if is_array(leaf)]
    if not rest:
        return function, args

    def call(*arrays: Any, **kwargs: Any) -> Any:
        whole = list(arrays)
        for number, (tree, leaves) in rest.items():
            remaining = iter(arrays[number])
            whole[number] = jax.tree.unflatten(tree, [next(remaining) if leaf is _ARRAY else leaf for leaf in leaves])
        return function(*whole, **kwargs)

    call.__wrapped__ = function  # type: ignore[attr-defined]  # so that its file and name are the reader's
    call.__name__ = getattr(function, "__name__", type(function).__name__)
    return call, tuple(traced)


_ARRAY = object()
"""The placeholder for an array among the bound values."""
