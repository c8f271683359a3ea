"""One training step of a wide MLP in bf16: each device has all weights and its part of the batch."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

WIDTH, HIDDEN, RATE = 4096, 16_384, 0.01

type Weights = dict[str, jax.Array]


def loss(weights: Weights, x: jax.Array, y: jax.Array) -> jax.Array:
    """Return the mean square error, f32[]."""
    hidden = jax.nn.relu(x @ weights["up"])
    error = (hidden @ weights["down"] - y).astype(jnp.float32)
    return jnp.mean(error * error)


def step(weights: Weights, x: jax.Array, y: jax.Array) -> tuple[Weights, jax.Array]:
    """Return the weights after a step of gradient descent, and the loss before it."""
    value, slopes = jax.value_and_grad(loss)(weights, x, y)
    return jax.tree.map(lambda w, slope: w - RATE * slope, weights, slopes), value


@dataclass(frozen=True)
class Step:
    """A step for a batch of `batch` examples, which are sharded over the mesh axis `data`."""

    batch: int
    function = staticmethod(step)

    @property
    def example(self) -> tuple[Any, ...]:
        """The shapes of the arguments of `function`."""
        shapes = (WIDTH, HIDDEN), (HIDDEN, WIDTH), (self.batch, WIDTH)
        up, down, x = (jax.ShapeDtypeStruct(shape, jnp.bfloat16) for shape in shapes)
        return {"up": up, "down": down}, x, x

    @property
    def arguments(self) -> dict[str, Any]:
        """The sharding of each argument (`specs`), and the number of the donated argument, the weights."""
        return {"specs": (P(), P("data"), P("data")), "donate_argnums": 0}


PROGRAMS = {"step": Step(8192), "step_large_batch": Step(8 * 8192)}
