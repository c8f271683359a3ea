"""Statements about numbers: what is rewritten, and who rounds."""

from __future__ import annotations

import logging
from contextlib import redirect_stdout
from io import StringIO

import jax
import jax.numpy as jnp
import numpy as np
from bare import FLOATS, count, everywhere, same, shape, states, text


@states("simplification")
def acts_on_constant_matrices() -> tuple[object, object]:
    """A quotient by a matrix of constants becomes a product with a matrix of reciprocals."""
    divisor = np.arange(1, 257, dtype=np.float32).reshape(16, 16)
    observed = everywhere(
        lambda target: count(text(lambda x: x / divisor, shape(16, 16), target=target), "divide", "multiply")
    )
    return same([0, 1]), observed


@states("simplification, ledger times-one-plus-zero")
def keeps_the_sign_of_zero() -> tuple[object, object]:
    """X * 1 + 0 is x, and a negative zero keeps its sign, where adding zero would take it."""
    function = jax.jit(lambda x: x * 1 + 0)
    signs = [bool(jnp.signbit(function(jnp.asarray(-0.0, dtype)))) for dtype in FLOATS]
    return ([True] * 3, False), (signs, bool(jnp.signbit(jnp.asarray(-0.0) + 0)))


@states("simplification, ledger folds-two-times-three")
def keeps_products_of_floats() -> tuple[object, object]:
    """2 * (3 * x) stays two products for floats, and is one for integers."""

    def look(target: str) -> list[int]:
        types = (*FLOATS, jnp.int32)
        return [
            count(text(lambda x: 2 * (3 * x), shape(8, dtype=dtype), target=target), "multiply")[0] for dtype in types
        ]

    return same([2, 2, 2, 1]), everywhere(look)


@states("questions, when-xla-helps")
def rounds_where_asked() -> tuple[object, object]:
    """Only the H100 drops a conversion to bfloat16 and back, and it keeps reduce_precision."""

    def look(target: str) -> list[int]:
        there = text(lambda x: x.astype(jnp.bfloat16).astype(jnp.float32), shape(4), target=target)
        compiled_text = text(lambda x: jax.lax.reduce_precision(x, 8, 7), shape(4), target=target)
        return [*count(there, "convert"), *count(compiled_text, "reduce-precision")]

    return {"cpu": [2, 1], "h100": [0, 1], "tpu": [2, 1]}, everywhere(look)


@states("when-xla-helps")
def allows_excess_precision() -> tuple[object, object]:
    """The CPU rounds a bfloat16 sum each time, with excess precision allowed or not; the TPU only if not."""

    def look(target: str) -> list[list[int]]:
        pair = [shape(256, dtype=jnp.bfloat16)] * 2
        ways = [
            text(lambda x, y: (x + y) - x, *pair, target=target, xla_allow_excess_precision=on) for on in (True, False)
        ]
        return [count(module, "convert", "reduce-precision") for module in ways]

    expected = {"cpu": [[5, 0], [5, 0]], "h100": [[0, 0], [0, 0]], "tpu": [[3, 0], [3, 1]]}
    return expected, everywhere(look)


@states("when-xla-helps")
def does_not_find_a_compilers_nan() -> tuple[object, object]:
    """A NaN that the compiler made is none for jax_debug_nans, which runs the function without jit."""

    def root(x: jax.Array, y: jax.Array, z: jax.Array) -> jax.Array:
        return jnp.sqrt(x * y - z)

    x, y = jnp.linspace(1, 2, 1000), jnp.linspace(3, 4, 1000)
    z = x * y
    eagerly, jitted = jnp.isnan(root(x, y, z)).any(), jnp.isnan(jax.jit(root)(x, y, z)).any()
    logging.disable(logging.WARNING)
    try:
        with redirect_stdout(StringIO()), jax.debug_nans(True):  # noqa: FBT003 - the option's value
            jax.block_until_ready(jax.jit(root)(x, y, z))
        message = ""
    except FloatingPointError as error:
        message = str(error)
    finally:
        logging.disable(logging.NOTSET)
    return (False, True, True), (bool(eagerly), bool(jitted), "did not produce invalid values" in message)
