"""The four programs as TensorFlow is asked for them, and those that show where XLA's part of it begins and ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from peers import given

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Tensor = Any


def layer(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    """Return relu(x @ w + b)."""
    return tf.nn.relu(x @ w + b)


def biased(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    """Return the same, with the bias added by TensorFlow's operation of that name."""
    return tf.nn.relu(tf.nn.bias_add(x @ w, b))


def gelu(x: Tensor) -> Tensor:
    """Return TensorFlow's own exact GELU."""
    return tf.nn.gelu(x, approximate=False)


def classify(x: Tensor, w: Tensor) -> Tensor:
    """Return softmax(x @ w)."""
    return tf.nn.softmax(x @ w)


def mlp_block(x: Tensor, scale: Tensor, shift: Tensor, *weights: Tensor) -> Tensor:
    """Return x plus two dense layers of its layer norm."""
    w1, b1, w2, b2 = weights
    mean, variance = tf.nn.moments(x, -1, keepdims=True)
    normal = (x - mean) * tf.math.rsqrt(variance + given.EPSILON) * scale + shift
    return x + (gelu(normal @ w1 + b1) @ w2 + b2)


def on_the_host(x: Tensor) -> NDArray[np.float32]:
    """Return the rows sorted, by NumPy."""
    return np.asarray(np.sort(x.numpy()), np.float32)


def interrupted(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    """Return a layer, a bell curve, a call of Python, and a softmax written out."""
    hidden = layer(x, w, b)
    bell = tf.exp(-hidden * hidden) * 0.5 + 1.0
    ranked = tf.ensure_shape(tf.py_function(on_the_host, [bell], tf.float32), bell.shape)
    raised = tf.exp(ranked - tf.reduce_max(ranked, -1, keepdims=True))
    return raised / tf.reduce_sum(raised, -1, keepdims=True)


PROGRAMS: dict[str, Callable[..., Tensor]] = {
    "layer": layer,
    "gelu": gelu,
    "classify": classify,
    "mlp_block": mlp_block,
}


def arguments(program: str) -> list[Tensor]:
    """Return the inputs of one of the four programs as tensors."""
    return [tf.constant(array) for array in given.inputs(program).values()]
