"""The array that a call returns before its result is ready, and the operations that wait for it."""

import jax
import jax.numpy as jnp


@jax.jit
def work(x: jax.Array) -> jax.Array:
    """Return the result of 200 matmuls by x, each with a tanh, which take a good part of a second on any CPU."""
    done: jax.Array = jax.lax.fori_loop(0, 200, lambda _, y: jnp.tanh(y @ x), x)
    return done


def dispatched() -> list[tuple[str, bool]]:
    """Return three lines of code, each with whether its result was ready immediately after the line ran."""
    x = jnp.ones((512, 512)) / 512
    jax.block_until_ready(work(x) * 2)
    result = work(x)
    seen = [("`result = work(x)`", result.is_ready())]
    doubled = result * 2
    seen.append(("`doubled = result * 2`", doubled.is_ready()))
    jax.block_until_ready((result, doubled))
    seen.append(("`jax.block_until_ready((result, doubled))`", doubled.is_ready() and result.is_ready()))
    return seen


if __name__ == "__main__":
    print(dispatched())
