"""Multiply a vector by the matrix of second derivatives, without that matrix.

`curve(x, v)` returns the product of the Hessian of `energy` at `x` with `v`: f32[64], f32[64] -> f32[64].

`jax.hessian(energy)(x) @ v` gives the right numbers, and computes 64 x 64 of them to throw most away; for a network
with a million parameters the matrix would not fit into any memory. But the product is a derivative itself: that of the
gradient, in the direction `v`.

The check looks for values of the jaxpr that are as large as the matrix.
"""

import jax
import jax.numpy as jnp

EXAMPLE = (jax.ShapeDtypeStruct((64,), jnp.float32),) * 2


def energy(x: jax.Array) -> jax.Array:
    """Return Rosenbrock's function of a vector, f32[64] -> f32[]."""
    return jnp.sum((x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def curve(x: jax.Array, v: jax.Array) -> jax.Array:
    """Return the Hessian at x times v: f32[64], f32[64] -> f32[64]."""
    raise NotImplementedError  # TODO(human): the derivative of a gradient in a direction
