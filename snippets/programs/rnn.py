"""A recurrent network: one state carried over the steps of a sequence by a scan."""

import jax
import jax.numpy as jnp


def rnn(xs: jax.Array, state: jax.Array, w: jax.Array, u: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the last state, f32[8,64], and the state after each step, f32[32,8,64]."""

    def step(before: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        after = jnp.tanh(x @ w + before @ u)
        return after, after

    return jax.lax.scan(step, state, xs)


EXAMPLE = (
    jax.ShapeDtypeStruct((32, 8, 32), jnp.float32),  # steps, sequences, features
    jax.ShapeDtypeStruct((8, 64), jnp.float32),
    jax.ShapeDtypeStruct((32, 64), jnp.float32),
    jax.ShapeDtypeStruct((64, 64), jnp.float32),
)

if __name__ == "__main__":
    print(jax.make_jaxpr(rnn)(*EXAMPLE))
