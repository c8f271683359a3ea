"""Held-out programs of public issues with two unfused operations, each rewritten from its issue.

They are kept out while `xla-inspect why` is built.
"""

import jax
import jax.numpy as jnp


def sum_of_cosines(x: jax.Array) -> jax.Array:
    """Return the sum of the cosines of a vector."""
    cosines = jnp.cos(x)
    return jnp.sum(cosines)


def roughness(image: jax.Array) -> jax.Array:
    """Return the sum of the squared differences of neighbors along the second axis of a volume."""
    steps = jnp.diff(image, axis=1)
    return jnp.sum(steps * steps)


def move_points(points: jax.Array, rotation: jax.Array) -> jax.Array:
    """Return points in space, rotated and squashed."""
    rotated = points @ rotation
    return jnp.tanh(rotated) * 2.0


def segment_softmax(scores: jax.Array, segments: jax.Array) -> jax.Array:
    """Return the softmax within each of 128 segments of a vector."""
    top = jax.ops.segment_max(scores, segments, num_segments=128)
    exponentials = jnp.exp(scores - top[segments])
    total = jax.ops.segment_sum(exponentials, segments, num_segments=128)
    return exponentials / total[segments]


def embedding_bag(table: jax.Array, indices: jax.Array, weights: jax.Array) -> jax.Array:
    """Return for each bag of indices the weighted sum of the selected rows."""
    rows = jnp.take(table, indices, axis=0)
    return jnp.einsum("bkd,bk->bd", rows, weights)
