"""Multiply a vector by the matrix of second derivatives without computing the matrix.

`multiply_by_hessian(x, v)` returns the product of the Hessian of `energy` at `x` with `v`: f32[64], f32[64] -> f32[64].

`jax.hessian(energy)(x) @ v` returns the right numbers, but it computes all 64 x 64 second derivatives. For a network
with a million parameters, the matrix would not fit into any memory. However, the product is itself a derivative: the
derivative of the gradient in the direction `v`.

The check looks for values in the jaxpr that are as large as the matrix.
"""

import jax
import jax.numpy as jnp

EXAMPLE = (jax.ShapeDtypeStruct((64,), jnp.float32),) * 2


def energy(x: jax.Array) -> jax.Array:
    """Return the Rosenbrock function of a vector: f32[64] -> f32[]."""
    return jnp.sum((x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def multiply_by_hessian(x: jax.Array, v: jax.Array) -> jax.Array:
    """Return the product of the Hessian at x and v: f32[64], f32[64] -> f32[64]."""
    raise NotImplementedError  # TODO(human): the derivative of a gradient in a direction
