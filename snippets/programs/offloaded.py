"""The gradient of a stack of layers, with the layers' inputs saved on the device or in the host's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name

if TYPE_CHECKING:
    from collections.abc import Callable

INPUT = "layer input"


def layer(x: jax.Array, weights: jax.Array) -> tuple[jax.Array, None]:
    """Return two matmuls with a tanh each, and None for the scan; a policy can select the named input."""
    x = checkpoint_name(x, INPUT)
    return jnp.tanh(jnp.tanh(x @ weights[0]) @ weights[1]), None


def loss(weights: jax.Array, x: jax.Array, step: Callable[..., Any]) -> jax.Array:
    """Return the sum of squares after all layers, f32[]."""
    y, _ = jax.lax.scan(step, x, weights)
    return jnp.sum(y * y)


def gradient_saved(weights: jax.Array, x: jax.Array) -> jax.Array:
    """Return the gradient by the weights; save the inputs of all layers on the device, and recompute the rest."""
    policy = jax.checkpoint_policies.save_only_these_names(INPUT)
    gradient: jax.Array = jax.grad(loss)(weights, x, jax.checkpoint(layer, policy=policy))
    return gradient


def gradient_offloaded(weights: jax.Array, x: jax.Array) -> jax.Array:
    """Return the same gradient as `gradient_saved`, but save the inputs in the host's memory."""
    policy = jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[],
        names_which_can_be_offloaded=[INPUT],
        offload_src="device",
        offload_dst="pinned_host",
    )
    gradient: jax.Array = jax.grad(loss)(weights, x, jax.checkpoint(layer, policy=policy))
    return gradient


def result_on_host(x: jax.Array) -> jax.Array:
    """Return twice x, in the memory of the host."""
    moved: jax.Array = jax.device_put(x * 2, jax.memory.Space.Host)
    return moved


LAYERS, ROWS, WIDTH = 16, 16384, 512
X = jax.ShapeDtypeStruct((ROWS, WIDTH), jnp.float32)
WEIGHTS = jax.ShapeDtypeStruct((LAYERS, 2, WIDTH, WIDTH), jnp.float32)

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "saved": (gradient_saved, (WEIGHTS, X)),
    "offloaded": (gradient_offloaded, (WEIGHTS, X)),
    "result on the host": (result_on_host, (X,)),
}

if __name__ == "__main__":
    for title, (function, example) in PROGRAMS.items():
        print(title, jax.make_jaxpr(function)(*example), sep="\n")
