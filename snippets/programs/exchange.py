"""The requests of one device to others inside `shard_map`: a collective for each need."""

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

SPECS = (P("x", None),)


def by_device(part: jax.Array) -> tuple[jax.Array, ...]:
    """Return the results of five collectives on this device's rows."""
    size = jax.lax.axis_size("x")
    ring = [(device, (device + 1) % size) for device in range(size)]
    return (
        jax.lax.psum(part, "x"),  # the sum, for all
        jax.lax.psum_scatter(part, "x", tiled=True),  # the sum, each device its rows of it
        jax.lax.all_gather(part, "x", tiled=True),  # all rows, for all
        jax.lax.all_to_all(part, "x", split_axis=1, concat_axis=0, tiled=True),  # columns instead of rows
        jax.lax.ppermute(part, "x", ring),  # the rows of the device before
    )


def exchange(x: jax.Array) -> tuple[jax.Array, ...]:
    """Return the results of five collectives on a matrix whose rows are spread over the mesh's axis x."""
    out = (P(), P("x"), P(), P(None, "x"), P("x"))
    # All-gather gives every device the same, which the types cannot say.
    return jax.shard_map(by_device, in_specs=SPECS, out_specs=out, check_vma=False)(x)


EXAMPLE = (jax.ShapeDtypeStruct((512, 512), jnp.float32),)
ARGUMENTS = {"mesh": {"x": 8}, "specs": SPECS}

if __name__ == "__main__":
    with jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((8,), ("x",), (jax.sharding.AxisType.Auto,))):
        print(jax.make_jaxpr(exchange)(*EXAMPLE))
