"""Four layers whose weights are sharded: each device gathers a layer's weights before it can use them."""

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

LAYERS, ROWS, WIDTH = 4, 8192, 2048


def gathered(weights: list[jax.Array], x: jax.Array) -> jax.Array:
    """Return the output of four layers for x, each a matmul and a relu, in the shape of x."""
    for weight in weights:
        x = jax.nn.relu(x @ weight)
    return x


def scanned(weights: jax.Array, x: jax.Array) -> jax.Array:
    """Return the same result as `gathered`, with the layers in a loop over stacked weights."""
    return jax.lax.scan(lambda x, weight: (jax.nn.relu(x @ weight), None), x, weights)[0]


def scanned_by_two(weights: jax.Array, x: jax.Array) -> jax.Array:
    """Return the same result as `scanned`, with two layers in each iteration of the loop."""
    return jax.lax.scan(lambda x, weight: (jax.nn.relu(x @ weight), None), x, weights, unroll=2)[0]


X = jax.ShapeDtypeStruct((ROWS, WIDTH), jnp.bfloat16)
EXAMPLE = ([jax.ShapeDtypeStruct((WIDTH, WIDTH), jnp.bfloat16)] * LAYERS, X)
STACKED = (jax.ShapeDtypeStruct((LAYERS, WIDTH, WIDTH), jnp.bfloat16), X)

# The rows of each weight and of x are sharded over eight devices.
SPECS = ([P("x")] * LAYERS, P("x"))
STACKED_SPECS = (P(None, "x"), P("x"))
LAYOUTS = {"fully sharded": {"mesh": {"x": 8}, "specs": SPECS}}

if __name__ == "__main__":
    print(jax.make_jaxpr(gathered)(*EXAMPLE))
