"""A slow model that predicts the next word and stores its hidden states; find out why it is slow.

Write down the faults and fix them in `diagnose.py`. Do not change this file, because the check compares the two.
"""

import jax
import jax.numpy as jnp
import numpy as np

WORDS, WIDTH, LENGTH, PIECE = 512, 128, 2048, 32
"""The words of the vocabulary, the numbers of a token, the tokens of the memory, and the tokens of a piece."""

type Weights = dict[str, jax.Array]

ANGLES = np.arange(LENGTH, dtype=np.float32)[:, None] / 10000 ** (np.arange(WIDTH, dtype=np.float32) / WIDTH)
POSITIONS = np.sin(ANGLES).astype(np.float32)
"""The position encoding, which is added to the token at each position, f32[2048,128]."""


def shape(*dimensions: int) -> jax.ShapeDtypeStruct:
    """Return the shape of an array of float32 numbers."""
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


EXAMPLE = (
    {"table": shape(WORDS, WIDTH), "mix": shape(WIDTH, WIDTH), "out": shape(WIDTH, WORDS)},
    shape(LENGTH, WIDTH),
    jax.ShapeDtypeStruct((), jnp.int32),
    jax.ShapeDtypeStruct((PIECE,), jnp.int32),
)


def look_up(table: jax.Array, ids: jax.Array) -> jax.Array:
    """Return the embeddings of words: f32[512,128], s32[32] -> f32[32,128]."""
    return jax.nn.one_hot(ids, WORDS) @ table


def share(scores: jax.Array) -> jax.Array:
    """Return the softmax of each row, without overflow: f32[32,512] -> f32[32,512]."""
    largest = jnp.sort(scores, axis=-1)[:, -1:]
    powers = jnp.exp(scores - largest)
    return powers / jnp.sum(powers, axis=-1, keepdims=True)


@jax.jit
def step(weights: Weights, memory: jax.Array, position: jax.Array, ids: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the probabilities of the next words, and the memory with the hidden states of `ids` at a position."""
    tokens = look_up(weights["table"], ids)
    tokens = tokens + jax.lax.dynamic_slice(jnp.asarray(POSITIONS), (position, 0), tokens.shape)
    hidden = jnp.tanh(tokens @ weights["mix"])
    return share(hidden @ weights["out"]), jax.lax.dynamic_update_slice(memory, hidden, (position, 0))
