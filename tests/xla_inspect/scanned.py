"""A small program whose kernels are hard to identify: a loop, a sort with a renamed kernel, and copies."""

import jax
import jax.numpy as jnp

EXAMPLE = (jax.ShapeDtypeStruct((8, 64, 128), jnp.float32), jax.ShapeDtypeStruct((4, 128, 128), jnp.float32))


def scanned(x: jax.Array, weights: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the sorted output of layers in a loop, and the sum of its sines."""

    def layer(x: jax.Array, weight: jax.Array) -> tuple[jax.Array, None]:
        with jax.named_scope("attention"):
            scores = jax.nn.softmax(x @ x.swapaxes(1, 2))
            x = x + scores @ x
        with jax.named_scope("mlp"):
            return x + jnp.tanh(x @ weight), None

    x, _ = jax.lax.scan(layer, x, weights)
    return jnp.sort(x, axis=-1), jnp.sum(jnp.sin(x))
