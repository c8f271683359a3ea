"""A training step's arithmetic: the gradient of a loss over the transformer block, by its parameters."""

import jax
import jax.numpy as jnp

from programs import transformer_block as forward


def loss(p: forward.Parameters, x: jax.Array) -> jax.Array:
    """Return the mean square of the block's output, f32[]."""
    return jnp.mean(forward.transformer_block(x, p) ** 2)


def transformer_block_grad(p: forward.Parameters, x: jax.Array) -> forward.Parameters:
    """Return the gradient of the loss by each parameter, in the parameters' shapes."""
    gradient: forward.Parameters = jax.grad(loss)(p, x)
    return gradient


EXAMPLE = forward.EXAMPLE[::-1]

if __name__ == "__main__":
    print(jax.make_jaxpr(transformer_block_grad)(*EXAMPLE))
