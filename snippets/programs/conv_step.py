"""One step of training a small image classifier: two convolutions, pooling, a linear layer, gradient and update."""

import jax
import jax.numpy as jnp

RATE = 0.01
LAYOUT = ("NHWC", "HWIO", "NHWC")

Parameters = dict[str, jax.Array]


def convolve(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """Return relu of a convolution of the same height and width, channels last."""
    return jax.nn.relu(jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=LAYOUT))


def pool(x: jax.Array) -> jax.Array:
    """Return the largest of each 2 x 2 pixels."""
    largest: jax.Array = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return largest


def loss(p: Parameters, images: jax.Array, labels: jax.Array) -> jax.Array:
    """Return the mean cross entropy, f32[]."""
    hidden = pool(convolve(pool(convolve(images, p["first"])), p["second"]))
    logits = jnp.mean(hidden, axis=(1, 2)) @ p["out"]
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=-1)
    return -jnp.mean(chosen)


def conv_step(p: Parameters, images: jax.Array, labels: jax.Array) -> tuple[Parameters, jax.Array]:
    """Return the parameters after a step of gradient descent, in their shapes, and the loss before it."""
    error, gradient = jax.value_and_grad(loss)(p, images, labels)
    return jax.tree.map(lambda w, g: w - RATE * g, p, gradient), error


EXAMPLE = (
    {
        "first": jax.ShapeDtypeStruct((3, 3, 3, 8), jnp.float32),
        "second": jax.ShapeDtypeStruct((3, 3, 8, 16), jnp.float32),
        "out": jax.ShapeDtypeStruct((16, 10), jnp.float32),
    },
    jax.ShapeDtypeStruct((8, 16, 16, 3), jnp.float32),
    jax.ShapeDtypeStruct((8,), jnp.int32),
)

if __name__ == "__main__":
    print(jax.make_jaxpr(conv_step)(*EXAMPLE))
