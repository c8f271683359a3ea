"""Write a two-layer network as a pure function and jit it.

`mlp(params, x)` returns `relu(x @ w1 + b1) @ w2 + b2` for a batch of examples: f32[32,64] -> f32[32,16].

* **Pure** means that the function reads only its arguments and has no effect except its result.
* **Jitted** means that a call compiles one program, which the compiler sees as a whole. Without `jit`, each operation
  is a separate program, and nothing can be fused.

The check counts the matmuls in the compiled program, and the programs that one call compiles.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp


class Params(NamedTuple):
    """Weights and biases of the two layers."""

    w1: jax.Array  # f32[64,128]
    b1: jax.Array  # f32[128]
    w2: jax.Array  # f32[128,16]
    b2: jax.Array  # f32[16]


def shape(*dimensions: int) -> jax.ShapeDtypeStruct:
    """Return the shape of an array of float32 numbers."""
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


PARAMS = Params(shape(64, 128), shape(128), shape(128, 16), shape(16))  # type: ignore[arg-type]  # shapes serve as arrays
EXAMPLE = (PARAMS, shape(32, 64))


def mlp(params: Params, x: jax.Array) -> jax.Array:
    """Return the output of the network for a batch: f32[32,64] -> f32[32,16]."""
    raise NotImplementedError  # TODO(human): two matmuls, two additions, a relu, and a decorator above the function
