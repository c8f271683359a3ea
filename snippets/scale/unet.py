"""The loss of a diffusion model and its gradient, compiled from shapes without any arrays.

The U-Net is that of "Denoising Diffusion Probabilistic Models" (Ho et al., 2020) for images of 256 x 256 pixels, with
114 million parameters. Convolutions are bf16, and a batch is 4 images, for one device.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

type Params = dict[str, Any]
type Weight = Callable[..., jax.Array]
"""A function that returns the weight for a name and the sizes of its dimensions."""

WIDTH, GROWTHS, BLOCKS, ATTENDED, GROUPS = 128, (1, 1, 2, 2, 4, 4), 2, 16, 32
STEPS, SIZE, BATCH = 1000, 256, 4


@dataclass(frozen=True)
class Network:
    """One forward pass of the network.

    Attributes:
        weight: A function that returns the weight for a name and the sizes of its dimensions.
    """

    weight: Weight

    def dense(self, name: str, x: jax.Array, features: int) -> jax.Array:
        """Return the product with a weight matrix, plus a bias."""
        matrix = self.weight(f"{name}.matrix", x.shape[-1], features).astype(x.dtype)
        return x @ matrix + self.weight(f"{name}.bias", features).astype(x.dtype)

    def convolve(self, name: str, x: jax.Array, features: int, stride: int = 1) -> jax.Array:
        """Return a convolution with a window of 3 x 3, plus a bias."""
        kernel = self.weight(f"{name}.kernel", 3, 3, x.shape[-1], features).astype(x.dtype)
        layout = ("NHWC", "HWIO", "NHWC")
        x = jax.lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=layout)
        return x + self.weight(f"{name}.bias", features).astype(x.dtype)

    def norm(self, name: str, x: jax.Array) -> jax.Array:
        """Return activations normalized over the pixels and each group of features."""
        wide = x.astype(jnp.float32).reshape(*x.shape[:-1], GROUPS, -1)
        mean, spread = jnp.mean(wide, (1, 2, 4), keepdims=True), jnp.var(wide, (1, 2, 4), keepdims=True)
        wide = ((wide - mean) * jax.lax.rsqrt(spread + 1e-6)).reshape(x.shape)
        scale, bias = self.weight(f"{name}.scale", x.shape[-1]), self.weight(f"{name}.bias", x.shape[-1])
        return (wide * scale + bias).astype(x.dtype)

    def block(self, name: str, x: jax.Array, time: jax.Array, features: int) -> jax.Array:
        """Return `x` plus two convolutions with the time embedding between them; 16 x 16 images are also attended."""
        y = self.convolve(f"{name}.first", jax.nn.silu(self.norm(f"{name}.norm1", x)), features)
        y = y + self.dense(f"{name}.time", jax.nn.silu(time), features)[:, None, None]
        y = self.convolve(f"{name}.second", jax.nn.silu(self.norm(f"{name}.norm2", y)), features)
        x = (x if x.shape[-1] == features else self.dense(f"{name}.fit", x, features)) + y
        return self.attend(f"{name}.attend", x) if x.shape[1] == ATTENDED else x

    def attend(self, name: str, x: jax.Array) -> jax.Array:
        """Return `x` plus its self-attention over all pixels of an image."""
        batch, rows, columns, width = x.shape
        flat = self.norm(f"{name}.norm", x).reshape(batch, rows * columns, width)
        q, k, v = (self.dense(f"{name}.{part}", flat, width) for part in "qkv")
        scores = jnp.einsum("bqd,bkd->bqk", q, k).astype(jnp.float32) / width**0.5
        mixed = jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(scores, -1).astype(x.dtype), v)
        return x + self.dense(f"{name}.mix", mixed, width).reshape(x.shape)

    def predict(self, x: jax.Array, time: jax.Array) -> jax.Array:
        """Return the predicted noise in images at a diffusion time."""
        angles = time[:, None] * 10_000.0 ** (-jnp.arange(WIDTH // 2) / (WIDTH // 2 - 1))
        waves = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], -1).astype(jnp.bfloat16)
        embedding = self.dense("time2", jax.nn.silu(self.dense("time1", waves, 4 * WIDTH)), 4 * WIDTH)
        x = self.convolve("start", x.astype(jnp.bfloat16), WIDTH)
        skips = [x]
        for level, growth in enumerate(GROWTHS):
            for number in range(BLOCKS):
                x = self.block(f"down{level}.{number}", x, embedding, growth * WIDTH)
                skips.append(x)
            if level < len(GROWTHS) - 1:
                x = self.convolve(f"down{level}.shrink", x, x.shape[-1], 2)
                skips.append(x)
        x = self.attend("middle.attend", self.block("middle.0", x, embedding, x.shape[-1]))
        x = self.block("middle.1", x, embedding, x.shape[-1])
        for level, growth in reversed([*enumerate(GROWTHS)]):
            for number in range(BLOCKS + 1):
                x = self.block(f"up{level}.{number}", jnp.concatenate([x, skips.pop()], -1), embedding, growth * WIDTH)
            if level:
                x = self.convolve(f"up{level}.grow", x.repeat(2, 1).repeat(2, 2), x.shape[-1])
        return self.convolve("end", jax.nn.silu(self.norm("norm", x)), 3).astype(jnp.float32)


def loss(params: Params, pictures: jax.Array, noise: jax.Array, time: jax.Array) -> jax.Array:
    """Return the mean squared error of the noise that the network predicts in noisy images."""
    signal = jnp.cumprod(1 - jnp.linspace(1e-4, 0.02, STEPS))[time][:, None, None, None]
    noisy = jnp.sqrt(signal) * pictures + jnp.sqrt(1 - signal) * noise
    return jnp.mean((Network(lambda name, *_: params[name]).predict(noisy, time) - noise) ** 2)


def shapes() -> Params:
    """Return the tree of the parameters as shapes of f32 arrays, without values."""
    params: Params = {}

    def note(name: str, *shape: int) -> jax.Array:
        params[name] = jax.ShapeDtypeStruct(shape, jnp.float32)
        return jnp.zeros(shape)

    picture, time = jax.ShapeDtypeStruct((1, SIZE, SIZE, 3), jnp.float32), jax.ShapeDtypeStruct((1,), jnp.int32)
    jax.eval_shape(Network(note).predict, picture, time)
    return params


PICTURES = jax.ShapeDtypeStruct((BATCH, SIZE, SIZE, 3), jnp.float32)
EXAMPLE = (shapes(), PICTURES, PICTURES, jax.ShapeDtypeStruct((BATCH,), jnp.int32))
PROGRAMS = {"step": (jax.value_and_grad(loss), EXAMPLE)}
"""The program of this file, which returns the loss and its gradient: `xla-inspect unet.py:step --target tpu-v5e`."""
