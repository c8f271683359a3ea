"""One step of training: the loss of the two-layer MLP, its gradient, and the update of each parameter."""

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

from programs import mlp as model

RATE = 0.01

Parameters = dict[str, jax.Array]


def loss(p: Parameters, x: jax.Array, y: jax.Array) -> jax.Array:
    """Return the mean square error, f32[]."""
    return jnp.mean((model.mlp(x, p["w1"], p["b1"], p["w2"], p["b2"]) - y) ** 2)


def train_step(p: Parameters, x: jax.Array, y: jax.Array) -> tuple[Parameters, jax.Array]:
    """Return the parameters after a step of gradient descent, in their shapes, and the loss before it."""
    error, gradient = jax.value_and_grad(loss)(p, x, y)
    return jax.tree.map(lambda w, g: w - RATE * g, p, gradient), error


def train_step_exactly(p: Parameters, x: jax.Array, y: jax.Array) -> tuple[Parameters, jax.Array]:
    """Return the same as `train_step`, with every matmul in full float32 precision."""
    with jax.default_matmul_precision("highest"):
        return train_step(p, x, y)


EXAMPLE = (
    dict(zip(("w1", "b1", "w2", "b2"), model.EXAMPLE[1:], strict=True)),
    model.EXAMPLE[0],
    jax.ShapeDtypeStruct((256, 256), jnp.float32),  # y
)

# For the parameters, for x and for y: which axis of the mesh each dimension is cut along.
SHARDINGS = {
    # Every device has all parameters and its part of the batch.
    "data": (P(), P("x"), P("x")),
    # Every device has its part of the hidden layer and the whole batch.
    "tensor": ({"w1": P(None, "x"), "b1": P("x"), "w2": P("x", None), "b2": P()}, P(), P()),
    # As for data, and each parameter is kept in parts too.
    "fully sharded": (P("x"), P("x"), P("x")),
    # Two axes: the batch along one, the hidden layer along the other, parameters in parts along both.
    "two axes": ({"w1": P("x", "y"), "b1": P("y"), "w2": P("y", "x"), "b2": P()}, P("x"), P("x")),
}
# What a capture on eight devices is told for each of them.
LAYOUTS = {
    way: {"mesh": {"x": 2, "y": 4} if way == "two axes" else {"x": 8}, "specs": specs, "donate_argnums": 0}
    for way, specs in SHARDINGS.items()
}

if __name__ == "__main__":
    print(jax.make_jaxpr(train_step)(*EXAMPLE))
