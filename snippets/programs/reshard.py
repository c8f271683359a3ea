"""A matrix that is sharded by rows along one axis of a mesh, and resharded by columns along the other."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

ROWS, COLUMNS, BOTH = P("x", None), P(None, "y"), P("x", "y")
MESH = {"x": 4, "y": 2}


def directly(x: jax.Array) -> jax.Array:
    """Return x resharded by columns along y."""
    columns: jax.Array = jax.lax.with_sharding_constraint(x, COLUMNS)
    return columns


def by_both(x: jax.Array) -> jax.Array:
    """Return x resharded first into blocks (rows along x, columns along y), and then by columns along y."""
    blocks = jax.lax.with_sharding_constraint(x, BOTH)
    columns: jax.Array = jax.lax.with_sharding_constraint(blocks, COLUMNS)
    return columns


EXAMPLE = (jax.ShapeDtypeStruct((64, 64), jnp.float32),)
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "directly": (directly, EXAMPLE),
    "by both axes": (by_both, EXAMPLE),
}
ARGUMENTS = {"mesh": MESH, "specs": (ROWS,)}

if __name__ == "__main__":
    # The constraints name axes, so there must be a mesh; to trace it needs no devices.
    with jax.sharding.use_abstract_mesh(
        jax.sharding.AbstractMesh((4, 2), ("x", "y"), (jax.sharding.AxisType.Auto,) * 2)
    ):
        for name, (function, example) in PROGRAMS.items():
            print(name, jax.make_jaxpr(function)(*example))
