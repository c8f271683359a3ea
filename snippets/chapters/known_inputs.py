"""Programs with values that do not depend on any argument, which a compiler can compute while it compiles."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

STEPS = np.linspace(0, 1, 128, dtype=np.float32)


def product_of_filled(x: jax.Array) -> jax.Array:
    """Multiply by the product of two filled arrays, f32[64,128]."""
    return x * (jnp.full((64, 128), 2.0) * jnp.full((64, 128), 3.0))


def sum_of_ones(x: jax.Array) -> jax.Array:
    """Add the sum of a 512 x 512 array of ones, f32[64,128]."""
    return x + jnp.ones((512, 512)).sum()


def sine_of_literals(x: jax.Array) -> jax.Array:
    """Add the sines of the 128 numbers of the NumPy array `STEPS` to each row, f32[64,128]."""
    return x + jnp.sin(STEPS)


def sine_of_iota(x: jax.Array) -> jax.Array:
    """Add the sines of the numbers from 0 to 127 to each row, f32[64,128]."""
    return x + jnp.sin(jnp.arange(128.0))


def product_of_identities(x: jax.Array) -> jax.Array:
    """Add the sum of all elements of the product of two identity matrices, f32[64,128]."""
    return x + (jnp.eye(64) @ jnp.eye(64)).sum()


def factored_sum(x: jax.Array) -> jax.Array:
    """Return the sum of two multiples of the argument, f32[64,128]."""
    return x * 3 + x * 5


CASES: dict[str, tuple[Callable[[jax.Array], jax.Array], str, str]] = {
    "a product of two filled arrays": (product_of_filled, "x * (full(2) * full(3))", "multiply"),
    "a sum of an array of ones": (sum_of_ones, "x + ones.sum()", "add"),
    "a sine of an array of literals": (sine_of_literals, "x + sin(STEPS)", "add"),
    "a sine of counted numbers": (sine_of_iota, "x + sin(arange)", "add"),
    "a product of identity matrices": (product_of_identities, "x + (eye @ eye).sum()", "add"),
}
"""The function, its short form, and the only operation that its argument needs, by a description of the known value."""

EXAMPLE = (jax.ShapeDtypeStruct((64, 128), jnp.float32),)
IDLE = {"parameter", "constant", "broadcast", "bitcast", "fusion", "copy", "copy-start", "copy-done"}
"""Operations that compute no numbers."""
