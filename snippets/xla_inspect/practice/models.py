"""The programs that the practice shows: small, pure, and shaped so that each compiler has something to decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp

if TYPE_CHECKING:
    from collections.abc import Callable

BATCH, INPUT, HIDDEN, OUTPUT = 32, 64, 128, 16
"""Sizes of the multilayer perceptron: examples in a batch, and numbers of each example going in, inside, and out."""


class Params(NamedTuple):
    """The parameters of the two layers; a pytree, so that JAX's transformations take it whole.

    Attributes:
        w1: Weights of the first layer, f32[64,128].
        b1: Its bias, f32[128].
        w2: Weights of the second layer, f32[128,16].
        b2: Its bias, f32[16].
    """

    w1: jax.Array
    b1: jax.Array
    w2: jax.Array
    b2: jax.Array


def init(seed: int = 0) -> Params:
    """Return random weights and zero biases, which are the same for the same seed."""
    first, second = jax.random.split(jax.random.key(seed))
    return Params(
        jax.random.normal(first, (INPUT, HIDDEN)) / INPUT**0.5,
        jnp.zeros(HIDDEN),
        jax.random.normal(second, (HIDDEN, OUTPUT)) / HIDDEN**0.5,
        jnp.zeros(OUTPUT),
    )


def mlp(params: Params, x: jax.Array) -> jax.Array:
    """Return two layers of x, relu between: f32[32,64] -> f32[32,16]."""
    hidden = jnp.maximum(x @ params.w1 + params.b1, 0.0)
    return hidden @ params.w2 + params.b2


def loss(params: Params, x: jax.Array, y: jax.Array) -> jax.Array:
    """Return the mean square error of a batch, f32[]."""
    return jnp.mean((mlp(params, x) - y) ** 2)


def classify(params: Params, pixels: jax.Array) -> jax.Array:
    """Return `mlp` of pixels from 0 to 255, scaled to -1 to 1 first."""
    return mlp(params, (pixels - 127.5) / 127.5)


def wasteful(params: Params, x: jax.Array) -> jax.Array:
    """Return class probabilities f32[32,16], with needless operations."""
    x = x.T.T
    hidden = jnp.maximum((x - 0.0) @ params.w1 + params.b1 + 0.0, 0.0)
    scores = jnp.negative(jnp.negative(hidden @ params.w2 + params.b2))
    shifted = scores - jnp.max(scores, axis=-1, keepdims=True)
    total = jnp.sum(jnp.exp(shifted), axis=-1, keepdims=True)
    return jnp.exp(shifted) / total


def doubled(x: jax.Array) -> jax.Array:
    """Return 4 x: x doubled in two of three iterations of a loop."""
    for turn in range(3):
        if turn != 1:
            x = x * 2.0
    return x


def decay(x: jax.Array) -> jax.Array:
    """Return a damped wave plus 0.5 * tanh(x), element by element."""
    return jnp.exp(-jnp.abs(x)) * jnp.cos(3.0 * x) + 0.5 * jnp.tanh(x)


def center(x: jax.Array) -> jax.Array:
    """Return each row less its mean."""
    return x - jnp.mean(x, axis=-1, keepdims=True)


def gated(x: jax.Array, w: jax.Array, v: jax.Array) -> jax.Array:
    """Return x @ v, each element multiplied by the sigmoid of x @ w."""
    return jax.nn.sigmoid(x @ w) * (x @ v)


def shape(*dimensions: int) -> jax.ShapeDtypeStruct:
    """Return the shape of a float32 array as a `jax.ShapeDtypeStruct`."""
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


PARAMS = Params(shape(INPUT, HIDDEN), shape(HIDDEN), shape(HIDDEN, OUTPUT), shape(OUTPUT))  # type: ignore[arg-type]  # shapes serve as arrays
"""Shapes of the parameters."""

X, Y = shape(BATCH, INPUT), shape(BATCH, OUTPUT)
"""Shapes of a batch of inputs, and of its expected outputs."""

PREDICTED: dict[str, tuple[Callable[..., jax.Array], tuple[jax.ShapeDtypeStruct, ...]]] = {
    "decay": (decay, (shape(1024, 256),)),
    "center": (center, (shape(1024, 256),)),
    "gated": (gated, (shape(128, 64), shape(64, 256), shape(64, 256))),
}
"""The three programs whose kernels the reader predicts, by name, with shapes."""
