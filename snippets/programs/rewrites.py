"""Small functions that a compiler might simplify, each with the operation to watch and how many a rewrite leaves."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def add_zero(x: jax.Array) -> jax.Array:
    """Return x + 0, which can become x."""
    return x + 0


def zero() -> jax.Array:
    """Return the scalar 0 of type int8."""
    return jnp.zeros((), jnp.int8)


def add_called_zero(x: jax.Array) -> jax.Array:
    """Return x plus a zero that a jitted function returns."""
    called: jax.Array = jax.jit(zero)()
    return x + called


def multiply_by_one_add_zero(x: jax.Array) -> jax.Array:
    """Return x * 1 + 0, which can become x."""
    return x * 1 + 0


def multiply_by_zero(x: jax.Array) -> jax.Array:
    """Return x * 0, which is NaN where x is NaN or infinite, and zero elsewhere."""
    return x * 0


def subtract_itself(x: jax.Array) -> jax.Array:
    """Return x - x, which is NaN where x is NaN or infinite, and zero elsewhere."""
    return x - x


def negate_twice(x: jax.Array) -> jax.Array:
    """Return -(-x), which can become x."""
    return -(-x)  # noqa: B002 - no decrement is meant


def scale_in_order(x: jax.Array) -> jax.Array:
    """Return 2 * 3 * x, in which Python computes 2 * 3 first."""
    return 2 * 3 * x


def scale_twice(x: jax.Array) -> jax.Array:
    """Return 2 * (3 * x), which can become 6 * x."""
    return 2 * (3 * x)


def multiply_constants(x: jax.Array) -> jax.Array:
    """Return x times the product of two constant arrays of twos and threes."""
    return x * (jnp.full_like(x, 2) * jnp.full_like(x, 3))


def divide_by_three(x: jax.Array) -> jax.Array:
    """Return x / 3, which can become a faster multiplication by 1 / 3."""
    return jax.lax.div(x, jnp.full_like(x, 3))


def relu_twice(x: jax.Array) -> jax.Array:
    """Return relu(relu(x)), in which the second relu changes nothing."""
    return jax.nn.relu(jax.nn.relu(x))


def maximum_twice(x: jax.Array) -> jax.Array:
    """Return maximum(maximum(x, 0), 0), like `relu_twice` without calls."""
    return jnp.maximum(jnp.maximum(x, 0), 0)


def transpose_twice(x: jax.Array) -> jax.Array:
    """Return x.T.T, which can become x."""
    return x.T.T


def reshape_twice(x: jax.Array) -> jax.Array:
    """Return x reshaped twice, f32[2,64], for which one reshape is enough."""
    return x.reshape(4, 32).reshape(2, 64)


def add_broadcasts(s: jax.Array, t: jax.Array) -> jax.Array:
    """Return the sum of two broadcast scalars, for which one scalar addition is enough."""
    return jnp.broadcast_to(s, (8, 16)) + jnp.broadcast_to(t, (8, 16))


def multiply_by_identity(x: jax.Array) -> jax.Array:
    """Return the matrix product of x and the identity matrix, which can become x."""
    return x @ jnp.asarray(np.eye(16), x.dtype)


def slice_concatenation(x: jax.Array, y: jax.Array) -> jax.Array:
    """Return the first eight rows of the concatenation of x and y, which are x."""
    return jnp.concatenate([x, y])[:8]


def share_sum(a: jax.Array, b: jax.Array, c: jax.Array, d: jax.Array) -> jax.Array:
    """Return (a + b) * c + (a + b) * d, in which the same sum is written twice."""
    return (a + b) * c + (a + b) * d


def factor_out(a: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
    """Return a * c + b * c, for which one multiplication is enough."""
    return a * c + b * c


def leave_unused(x: jax.Array, y: jax.Array) -> jax.Array:
    """Return x + 1, after a matrix product that is not used."""
    _ = y @ y
    return x + 1


MATRIX, SQUARE, SCALAR = (jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((8, 16), (16, 16), ()))

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "x + 0": (add_zero, (MATRIX,)),
    "x + zero()": (add_called_zero, (MATRIX,)),
    "x * 1 + 0": (multiply_by_one_add_zero, (MATRIX,)),
    "x * 0": (multiply_by_zero, (MATRIX,)),
    "x - x": (subtract_itself, (MATRIX,)),
    "-(-x)": (negate_twice, (MATRIX,)),
    "2 * 3 * x": (scale_in_order, (MATRIX,)),
    "2 * (3 * x)": (scale_twice, (MATRIX,)),
    "x * (full(2) * full(3))": (multiply_constants, (MATRIX,)),
    "x / 3": (divide_by_three, (MATRIX,)),
    "relu(relu(x))": (relu_twice, (MATRIX,)),
    "maximum(maximum(x, 0), 0)": (maximum_twice, (MATRIX,)),
    "x.T.T": (transpose_twice, (MATRIX,)),
    "x.reshape(...).reshape(...)": (reshape_twice, (MATRIX,)),
    "broadcast(s) + broadcast(t)": (add_broadcasts, (SCALAR, SCALAR)),
    "x @ identity": (multiply_by_identity, (MATRIX,)),
    "concatenate([x, y])[:len(x)]": (slice_concatenation, (MATRIX, MATRIX)),
    "(a + b) * c + (a + b) * d": (share_sum, (MATRIX,) * 4),
    "a * c + b * c": (factor_out, (MATRIX,) * 3),
    "_ = y @ y": (leave_unused, (MATRIX, SQUARE)),
}

# For each rewrite: the program, the opcodes to count, and how many of them are left when it has happened.
REWRITES: dict[str, tuple[str, tuple[str, ...], int]] = {
    "x + 0 → x": ("x * 1 + 0", ("add",), 0),
    "x + zero() → x": ("x + zero()", ("add",), 0),
    "x * 1 → x": ("x * 1 + 0", ("multiply",), 0),
    "x * 1 + 0 → x": ("x * 1 + 0", ("multiply", "add"), 0),
    "x * 0 → 0": ("x * 0", ("multiply",), 0),
    "x - x → 0": ("x - x", ("subtract",), 0),
    "-(-x) → x": ("-(-x)", ("negate",), 0),
    "2 * 3 * x → 6 * x": ("2 * 3 * x", ("multiply",), 1),
    "2 * (3 * x) → 6 * x": ("2 * (3 * x)", ("multiply",), 1),
    "x * (full(2) * full(3)) → x * 6": ("x * (full(2) * full(3))", ("multiply",), 1),
    "x / 3 → x * (1 / 3)": ("x / 3", ("divide",), 0),
    "relu(relu(x)) → relu(x)": ("relu(relu(x))", ("maximum",), 1),
    "maximum(maximum(x, 0), 0) → maximum(x, 0)": ("maximum(maximum(x, 0), 0)", ("maximum",), 1),
    "x.T.T → x": ("x.T.T", ("transpose",), 0),
    "two reshapes → one": ("x.reshape(...).reshape(...)", ("reshape", "bitcast"), 1),
    "broadcast(s) + broadcast(t) → broadcast(s + t)": ("broadcast(s) + broadcast(t)", ("broadcast",), 1),
    "x @ identity → x": ("x @ identity", ("dot", "convolution"), 0),
    "concatenate([x, y])[:len(x)] → x": ("concatenate([x, y])[:len(x)]", ("concatenate", "slice"), 0),
    "(a + b) * c + (a + b) * d → t * c + t * d": ("(a + b) * c + (a + b) * d", ("add",), 2),
    "t * c + t * d → t * (c + d)": ("(a + b) * c + (a + b) * d", ("multiply",), 1),
    "a * c + b * c → (a + b) * c": ("a * c + b * c", ("multiply",), 1),
    "an unused matmul → nothing": ("_ = y @ y", ("dot", "convolution"), 0),
}


def typed(name: str, dtype: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return the function of an entry of `PROGRAMS`, and the shapes of its example with elements of `dtype`."""
    function, example = PROGRAMS[name]
    return function, tuple(jax.ShapeDtypeStruct(array.shape, dtype) for array in example)


if __name__ == "__main__":
    for rewrite, watched in REWRITES.items():
        function, example = PROGRAMS[watched[0]]
        print(rewrite, jax.make_jaxpr(function)(*example), sep="\n")
