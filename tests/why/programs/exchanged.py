"""Programs of public issues in which devices exchange values, each rewritten from its issue."""

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P


def roll(x: jax.Array) -> jax.Array:
    """Return twice a vector that is rolled by one."""
    rolled = jnp.roll(x, 1)
    return rolled * 2.0


def set_first_rows(x: jax.Array, rows: jax.Array) -> jax.Array:
    """Return a matrix with its first rows replaced."""
    changed = x.at[0:3].set(rows)
    result: jax.Array = jax.lax.with_sharding_constraint(changed, P("data"))
    return result


def iterate(x: jax.Array) -> jax.Array:
    """Return each element after its own number of steps."""

    def one(value: jax.Array) -> jax.Array:
        return jax.lax.while_loop(lambda v: v < 100.0, lambda v: v * 1.5 + 1.0, value)

    return jax.vmap(one)(x)


def project(x: jax.Array, w: jax.Array) -> jax.Array:
    """Return a dense layer of a batch, its weights spread over the same devices as the batch."""
    y = x @ w
    result: jax.Array = jax.lax.with_sharding_constraint(jnp.tanh(y), P("data"))
    return result


def blur(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """Return images minus their blurred versions, with rows spread over devices."""
    blurred = jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return x - blurred


def _of(*shape: int, dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:  # noqa: ANN401 - any type of NumPy's
    return jax.ShapeDtypeStruct(shape, dtype)


DATA = {"data": 8}
PROGRAMS = {
    "roll": SimpleNamespace(function=roll, example=(_of(4096),), arguments={"mesh": DATA, "specs": (P("data"),)}),
    "set_first_rows": SimpleNamespace(
        function=set_first_rows, example=(_of(512, 64), _of(3, 64)), arguments={"mesh": DATA, "specs": (P("data"), P())}
    ),
    "iterate": SimpleNamespace(function=iterate, example=(_of(1024),), arguments={"mesh": DATA, "specs": (P("data"),)}),
    "project": SimpleNamespace(
        function=project,
        example=(_of(256, 1024), _of(1024, 1024)),
        arguments={"mesh": DATA, "specs": (P("data"), P("data"))},
    ),
    "blur": SimpleNamespace(
        function=blur,
        example=(_of(8, 256, 256, 8), _of(3, 3, 8, 8)),
        arguments={"mesh": DATA, "specs": (P(None, "data"), P())},
    ),
}
