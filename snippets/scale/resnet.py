"""A training step of ResNet-50 with batch normalization, for one device, compiled from shapes without any arrays.

Weights, momenta and statistics are f32 and donated; convolutions are bf16. A batch is 128 images of 224 x 224 pixels.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

type Params = dict[str, Any]
type Weight = Callable[..., jax.Array]
"""A function that returns the weight for a name and the sizes of its dimensions."""

BLOCKS, CLASSES, BATCH, SIZE = (3, 4, 6, 3), 1000, 128, 224
GROWTH = 4


class Network:
    """One forward pass of the network, which stores the batch statistics of each normalization.

    Args:
        weight: A function that returns the weight for a name and the sizes of its dimensions.
    """

    def __init__(self, weight: Weight) -> None:
        """Store the function, and start without any statistics."""
        self.weight = weight
        self.statistics: dict[str, jax.Array] = {}

    def convolve(self, name: str, x: jax.Array, features: int, size: int, stride: int = 1) -> jax.Array:
        """Return a convolution with a `size` x `size` window, normalized over the batch, and store its statistics."""
        kernel = self.weight(f"{name}.kernel", size, size, x.shape[-1], features).astype(x.dtype)
        padding = [(size // 2, size // 2)] * 2
        layout = ("NHWC", "HWIO", "NHWC")
        x = jax.lax.conv_general_dilated(x, kernel, (stride, stride), padding, dimension_numbers=layout)
        wide = x.astype(jnp.float32)
        mean, square = jnp.mean(wide, (0, 1, 2)), jnp.mean(wide * wide, (0, 1, 2))
        self.statistics |= {f"{name}.mean": mean, f"{name}.square": square}
        scale = self.weight(f"{name}.scale", features) * jax.lax.rsqrt(square - mean * mean + 1e-5)
        return ((wide - mean) * scale + self.weight(f"{name}.bias", features)).astype(x.dtype)

    def block(self, name: str, x: jax.Array, width: int, stride: int) -> jax.Array:
        """Return the relu of the sum of a block's input and the result of three convolutions."""
        y = jax.nn.relu(self.convolve(f"{name}.narrow", x, width, 1))
        y = jax.nn.relu(self.convolve(f"{name}.look", y, width, 3, stride))
        y = self.convolve(f"{name}.widen", y, GROWTH * width, 1)
        if x.shape != y.shape:
            x = self.convolve(f"{name}.fit", x, GROWTH * width, 1, stride)
        return jax.nn.relu(x + y)

    def classify(self, x: jax.Array) -> jax.Array:
        """Return the class logits of each image."""
        x = jax.nn.relu(self.convolve("start", x.astype(jnp.bfloat16), 64, 7, 2))
        padding = [(0, 0), (1, 1), (1, 1), (0, 0)]
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), padding)
        for stage, blocks in enumerate(BLOCKS):
            for number in range(blocks):
                x = self.block(f"stage{stage}.{number}", x, 64 << stage, 2 if stage and not number else 1)
        pooled = jnp.mean(x.astype(jnp.float32), (1, 2))
        return pooled @ self.weight("head", pooled.shape[-1], CLASSES) + self.weight("bias", CLASSES)


def loss(params: Params, pictures: jax.Array, labels: jax.Array) -> tuple[jax.Array, Params]:
    """Return the mean cross-entropy of the class labels, and the batch statistics of each normalization."""
    network = Network(lambda name, *_: params[name])
    logits = network.classify(pictures)
    picked = jnp.take_along_axis(logits, labels[:, None], -1)[:, 0]
    return jnp.mean(jax.nn.logsumexp(logits, -1) - picked), network.statistics


def train_step(state: Params, pictures: jax.Array, labels: jax.Array) -> tuple[Params, jax.Array]:
    """Return the state with running statistics after one step of gradient descent with momentum, and the loss."""
    (value, statistics), slopes = jax.value_and_grad(loss, has_aux=True)(state["params"], pictures, labels)
    m = jax.tree.map(lambda w, m, g: 0.9 * m + g + 5e-5 * w, state["params"], state["m"], slopes)
    params = jax.tree.map(lambda w, m: w - 0.1 * m, state["params"], m)
    running = jax.tree.map(lambda old, new: 0.9 * old + 0.1 * new, state["running"], statistics)
    return {"params": params, "m": m, "running": running}, value


def shapes() -> tuple[Params, Params]:
    """Return two trees of shapes of f32 arrays: the parameters, and the running statistics."""
    params: Params = {}

    def note(name: str, *shape: int) -> jax.Array:
        params[name] = jax.ShapeDtypeStruct(shape, jnp.float32)
        return jnp.zeros(shape)

    def apply(pictures: jax.Array) -> Params:
        network = Network(note)
        network.classify(pictures)
        return network.statistics

    running = jax.eval_shape(apply, jax.ShapeDtypeStruct((1, SIZE, SIZE, 3), jnp.float32))
    return params, running


PARAMS, RUNNING = shapes()
EXAMPLE = (
    {"params": PARAMS, "m": PARAMS, "running": RUNNING},
    jax.ShapeDtypeStruct((BATCH, SIZE, SIZE, 3), jnp.float32),
    jax.ShapeDtypeStruct((BATCH,), jnp.int32),
)
ARGUMENTS = {"donate_argnums": 0}
PROGRAMS = {"step": (train_step, EXAMPLE)}
"""The program of this file: `xla-inspect resnet.py:step --target tpu-v5e`."""
