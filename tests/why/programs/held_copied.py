"""Held-out programs of public issues in which the compiler copies, each rewritten from its issue.

They are kept out while `xla-inspect why` is built.
"""

import jax
import jax.numpy as jnp


def read_then_add(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return a matrix with its first element increased, and the previous value of that element."""
    first = x[0, 0]
    return x.at[0, 0].add(1.0), first


def advance(clock: jax.Array, terrain: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return a state of two arrays, only one of which changes."""
    return clock * 2.0, terrain


def write_cache(cache: jax.Array, entry: jax.Array, position: jax.Array) -> jax.Array:
    """Return a cache with one entry written."""
    return jax.lax.dynamic_update_slice(cache, entry, (position, 0))


def stack_activations(x: jax.Array, w: jax.Array) -> jax.Array:
    """Return the gradient of a scan of layers that share their weights."""

    def layer(carry: jax.Array, _: None) -> tuple[jax.Array, None]:
        return jnp.tanh(carry @ w), None

    def loss(x: jax.Array) -> jax.Array:
        return jnp.sum(jax.lax.scan(layer, x, None, length=8)[0])

    slope: jax.Array = jax.grad(loss)(x)
    return slope


def learn_sometimes(weights: jax.Array, batches: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return weights after a scan that updates them in those steps whose batch has a positive sum."""

    def step(weights: jax.Array, batch: jax.Array) -> tuple[jax.Array, jax.Array]:
        def update(w: jax.Array) -> jax.Array:
            return w - 0.1 * jnp.outer(batch, batch) @ w

        loss = jnp.sum(weights @ batch)
        return jax.lax.cond(loss > 0, update, lambda w: w, weights), loss

    return jax.lax.scan(step, weights, batches)
