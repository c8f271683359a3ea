"""A model that reads a text in pieces and stores its output; it is slow for four reasons, which the compiler shows.

Each token is a row of numbers. A layer computes the weight of each of its topics for a token, and adds the weighted sum
of the topics' values. The output of the last layer is written into the memory, after the output for earlier pieces.

Fix the model in `model.py`. Do not change this file, because the check compares the two.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

LAYERS, WIDTH, TOPICS = 6, 128, 256
"""The layers of the model, the numbers of a token, and the topics of a layer."""

LONGEST, LENGTH = 64, 4096
"""The maximum number of tokens in a piece, and the tokens that the memory has room for."""

type Layer = dict[str, jax.Array]

EXAMPLE = (
    [
        {
            "topics": jax.ShapeDtypeStruct((WIDTH, TOPICS), jnp.float32),
            "values": jax.ShapeDtypeStruct((TOPICS, WIDTH), jnp.float32),
        }
    ]
    * LAYERS,
    jax.ShapeDtypeStruct((LENGTH, WIDTH), jnp.float32),
    0,
    jax.ShapeDtypeStruct((LONGEST, WIDTH), jnp.float32),
)


def make_layers(seed: int = 0) -> list[Layer]:
    """Return random weights, with a dictionary for each layer: topics f32[128,256], values f32[256,128]."""
    keys = jax.random.split(jax.random.key(seed), (LAYERS, 2))
    return [
        {
            "topics": jax.random.normal(first, (WIDTH, TOPICS)) / WIDTH**0.5,
            "values": jax.random.normal(second, (TOPICS, WIDTH)) / TOPICS**0.5,
        }
        for first, second in keys
    ]


def apply(layer: Layer, tokens: jax.Array) -> jax.Array:
    """Return the output of a layer for some tokens: f32[n,128] -> f32[n,128]."""
    scores = layer["topics"].T @ tokens.T  # one column for each token
    shares = jnp.exp(scores - jnp.max(scores, axis=0))
    shares = shares / jnp.sum(shares, axis=0)
    return tokens + shares.T @ layer["values"]


@jax.jit
def step(layers: list[Layer], memory: jax.Array, position: int, piece: jax.Array) -> jax.Array:
    """Return the memory, f32[4096,128], with the layers' output for a piece of text written from a row on."""
    for layer in layers:
        piece = apply(layer, piece)
    return jax.lax.dynamic_update_slice(memory, piece, (position, 0))


def read(layers: list[Layer], pieces: Sequence[np.ndarray]) -> jax.Array:
    """Return the memory after a text: pieces of up to 64 tokens, f32[n,128] -> f32[4096,128]."""
    memory = jnp.zeros((LENGTH, WIDTH))
    position = 0
    for piece in pieces:
        memory = step(layers, memory, position, piece)
        position += len(piece)
    return memory


if __name__ == "__main__":
    from xla_inspect.practice import compiles

    jax.config.update("jax_platforms", "cpu")
    text = [np.zeros((length, WIDTH), np.float32) for length in (64, 48, 33, 64, 17, 5)]
    weights = make_layers()
    with compiles() as lines:
        read(weights, text)
    pieces = [line.rpartition("float32")[2].rstrip(")") for line in lines if line.startswith("compiled step ")]
    print("step is compiled", len(pieces), "times for pieces of these shapes:")
    print("\n".join(pieces))
