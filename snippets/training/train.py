"""A training script as people write it: `xla-inspect recompiles run snippets/training/train.py --steps 6`."""

import argparse

import jax
import jax.numpy as jnp

BATCH = 32


@jax.jit
def step(weights: jax.Array, batch: jax.Array, rate: jax.Array | float) -> jax.Array:
    """Return the weights after a step of gradient descent."""

    def loss(weights: jax.Array) -> jax.Array:
        return jnp.mean((jnp.tanh(batch @ weights) - 1.0) ** 2)

    stepped: jax.Array = weights - rate * jax.grad(loss)(weights)
    return stepped


def main() -> None:
    """Read `--steps`, and train on constant examples for that many epochs of three batches, without output."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=6)
    steps = parser.parse_args().steps
    examples, weights = jnp.ones((70, 16)), jnp.zeros((16, 16))
    for number in range(steps):
        rate = 0.1 if number < steps // 2 else jnp.float32(0.05)
        for start in range(0, len(examples), BATCH):
            weights = step(weights, examples[start : start + BATCH], rate)


if __name__ == "__main__":
    main()
