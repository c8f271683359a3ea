"""Programs of public issues with two unfused operations, each rewritten from its issue."""

import jax
import jax.numpy as jnp


def scaled_softmax(x: jax.Array) -> jax.Array:
    """Return the softmax of scaled rows."""
    logits = jnp.sin(x) * 0.125
    top = jnp.max(logits, axis=-1, keepdims=True)
    weights = jnp.exp(logits - top)
    return weights / jnp.sum(weights, axis=-1, keepdims=True)


def normalize_columns(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the mean and the variance of each column, the variance from the centred values."""
    mean = jnp.mean(x, axis=0)
    variance = jnp.mean((x - mean) ** 2, axis=0)
    return mean, variance


def dense_relu(x: jax.Array, w: jax.Array, b: jax.Array) -> jax.Array:
    """Return a dense layer with a bias and ReLU."""
    matmul = x @ w
    return jax.nn.relu(matmul + b)


def embed(table: jax.Array, tokens: jax.Array) -> jax.Array:
    """Return the scaled and shifted embeddings of tokens."""
    rows = table[tokens]
    return jax.nn.gelu(rows * 0.5 + 1.0)


def held_apart(x: jax.Array) -> jax.Array:
    """Return tanh of a scaled matrix, with a barrier between the two steps."""
    scaled = x * 3.0 + 1.0
    scaled = jax.lax.optimization_barrier(scaled)
    return jnp.tanh(scaled)
