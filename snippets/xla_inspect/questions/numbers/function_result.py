"""The result of the user's function itself on given inputs: run operation by operation, without a compiler's passes."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from xla_inspect.questions.numbers.array_difference import is_floating

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect.questions.numbers.array_difference import Results
    from xla_inspect.subject import Subject


def run_function(
    subject: Subject,
    arrays: Mapping[str, np.ndarray[Any, Any]],
    *,
    wide: bool,
    function: Callable[..., Any] | None = None,
    compiles: bool = False,
) -> Results:
    """Run the function of a subject on this CPU without compiling it as a whole, and return its results.

    The user's code may raise any exception.

    Args:
        subject: The function with its example arguments.
        arrays: The array of each parameter of the compiled module, by its name in the user's code.
        wide: Whether floating-point inputs are converted to float64, with JAX's types of 64 bits enabled.
        function: Another function to run with the same arguments, or None.
        compiles: Whether JAX's own compiled functions in it, such as `jnp.cross`, are compiled, as in a call without
            jit, or also run operation by operation.
    """
    import jax

    program = subject.program()
    bound = inspect.signature(program.function).bind(*program.args, **program.kwargs)
    leaves = jax.tree.flatten_with_path(dict(bound.arguments))
    paths = [path[0].key + jax.tree_util.keystr(path[1:]) for path, _ in leaves[0]]
    # A number of Python is an input, unless it is a static argument.
    inputs = [path in arrays or hasattr(leaf, "dtype") for path, (_, leaf) in zip(paths, leaves[0], strict=True)]
    is_whole = sum(inputs) == len(arrays)
    in_order = iter(arrays.values())
    with (
        subject.around_tracing(),
        jax.default_device(jax.devices("cpu")[0]),
        jax.enable_x64(wide or jax.config.jax_enable_x64),
        jax.disable_jit(not compiles),
    ):
        values = []
        for path, (_, leaf), is_input in zip(paths, leaves[0], inputs, strict=True):
            # The compiled program does not use an argument without a parameter.
            array = arrays.get(path, next(in_order) if is_input and is_whole else None)
            values.append(_convert(array, leaf, wide=wide) if is_input else leaf)
        bound.arguments.update(jax.tree.unflatten(leaves[1], values))
        called: Any = function or program.function
        if hasattr(called, "lower"):
            # JAX would compile a function with the decorator `jax.jit` as a whole.
            called = called.__wrapped__
        results = jax.tree.leaves(called(*bound.args, **bound.kwargs))
        return [[_export(result)] for result in results]


def _convert(array: np.ndarray[Any, Any] | None, leaf: Any, *, wide: bool) -> Any:  # noqa: ANN401 - JAX's arrays
    import jax
    import jax.numpy as jnp

    if array is not None and (not hasattr(leaf, "dtype") or getattr(leaf, "weak_type", False)):
        # Its type must be as weak as in the compiled program, which decides the types of results.
        return jnp.full(array.shape, array.dtype.type(0).item()).at[...].set(array)
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        shape = jax.eval_shape(jax.random.key_data, leaf)
        return jax.random.wrap_key_data(jnp.asarray(np.zeros(shape.shape, shape.dtype) if array is None else array))
    array = np.zeros(leaf.shape, leaf.dtype) if array is None else array
    if wide and is_floating(array):
        array = array.astype(np.float64)
    if wide and array.dtype.kind == "c":
        array = array.astype(np.complex128)
    return jnp.asarray(array)


def _export(result: Any) -> np.ndarray[Any, Any]:  # noqa: ANN401 - a number or an array of JAX
    import jax
    import jax.numpy as jnp

    is_key = hasattr(result, "dtype") and jnp.issubdtype(result.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(result) if is_key else result)
