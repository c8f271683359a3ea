"""Held-out programs of public issues in which devices exchange values, each rewritten from its issue.

They are kept out while `xla-inspect why` is built.
"""

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P


def add_across(a: jax.Array, b: jax.Array, c: jax.Array) -> jax.Array:
    """Return a sum of three arrays, the first two of which are sharded differently from the third."""
    both: jax.Array = jax.lax.with_sharding_constraint(a + b, P(None, ("x", "y"), None))
    return both + c


def order(x: jax.Array) -> jax.Array:
    """Return the order of a vector's elements."""
    return jnp.argsort(x)


def pick_layer(x: jax.Array, stack: jax.Array, at: jax.Array) -> jax.Array:
    """Return an input after one layer of a stack that is sharded over devices."""
    w = jax.lax.dynamic_index_in_dim(stack, at, keepdims=False)
    return jnp.tanh(x @ w)


def gradient(w: jax.Array, x: jax.Array) -> jax.Array:
    """Return the gradient by weights of a linear model of a batch that is spread over devices."""

    def loss(w: jax.Array) -> jax.Array:
        return jnp.sum(jnp.tanh(x @ w))

    result: jax.Array = jax.lax.with_sharding_constraint(jax.grad(loss)(w), P("data"))
    return result


def look_up(table: jax.Array, tokens: jax.Array) -> jax.Array:
    """Return embeddings from a table whose rows are spread over devices."""
    rows = table[tokens]
    return jnp.tanh(rows)


def _of(*shape: int, dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:  # noqa: ANN401 - any type of NumPy's
    return jax.ShapeDtypeStruct(shape, dtype)


DATA = {"data": 8}
PROGRAMS = {
    "add_across": SimpleNamespace(
        function=add_across,
        example=(_of(64, 64, 64), _of(64, 64, 64), _of(64, 64, 64)),
        arguments={
            "mesh": {"x": 4, "y": 2},
            "specs": (P("y", None, "x"), P("y", None, "x"), P(None, ("x", "y"), None)),
        },
    ),
    "order": SimpleNamespace(function=order, example=(_of(8192),), arguments={"mesh": DATA, "specs": (P("data"),)}),
    "pick_layer": SimpleNamespace(
        function=pick_layer,
        example=(_of(256, 512), _of(8, 512, 512), _of(dtype=jnp.int32)),
        arguments={"mesh": DATA, "specs": (P(), P("data"), P())},
    ),
    "gradient": SimpleNamespace(
        function=gradient,
        example=(_of(1024, 512), _of(4096, 1024)),
        arguments={"mesh": DATA, "specs": (P("data"), P("data"))},
    ),
    "look_up": SimpleNamespace(
        function=look_up,
        example=(_of(32768, 256), _of(4096, dtype=jnp.int32)),
        arguments={"mesh": DATA, "specs": (P("data"), P())},
    ),
}
