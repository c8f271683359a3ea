"""A model that scores the next word and remembers what it made of each: slow, and nobody says why.

`diagnose.py` is where you write down what is wrong, and mend it. Leave this file as it is: the check compares the two.
"""

import jax
import jax.numpy as jnp
import numpy as np

WORDS, WIDTH, LENGTH, PIECE = 512, 128, 2048, 32
"""Words of the vocabulary, numbers of a token, tokens that are remembered, and tokens of a piece."""

type Weights = dict[str, jax.Array]

ANGLES = np.arange(LENGTH, dtype=np.float32)[:, None] / 10000 ** (np.arange(WIDTH, dtype=np.float32) / WIDTH)
POSITIONS = np.sin(ANGLES).astype(np.float32)
"""What is added to the token at each position, f32[2048,128]."""


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
    """Return the rows of some words: f32[512,128], s32[32] -> f32[32,128]."""
    return jax.nn.one_hot(ids, WORDS) @ table


def share(scores: jax.Array) -> jax.Array:
    """Return each row as shares of one, without overflow: f32[32,512] -> f32[32,512]."""
    largest = jnp.sort(scores, axis=-1)[:, -1:]
    powers = jnp.exp(scores - largest)
    return powers / jnp.sum(powers, axis=-1, keepdims=True)


@jax.jit
def step(weights: Weights, memory: jax.Array, position: jax.Array, ids: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the shares of the words that may follow, and the memory with a piece in it, from a position on."""
    tokens = look_up(weights["table"], ids)
    tokens = tokens + jax.lax.dynamic_slice(jnp.asarray(POSITIONS), (position, 0), tokens.shape)
    hidden = jnp.tanh(tokens @ weights["mix"])
    return share(hidden @ weights["out"]), jax.lax.dynamic_update_slice(memory, hidden, (position, 0))
