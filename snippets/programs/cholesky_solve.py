"""A linear system with a symmetric positive definite matrix: its Cholesky factor and two triangular solves."""

import jax
import jax.numpy as jnp


def cholesky_solve(a: jax.Array, b: jax.Array) -> jax.Array:
    """Return x with a @ x = b, f32[64,4]."""
    factor = jnp.linalg.cholesky(a)
    return jax.scipy.linalg.cho_solve((factor, True), b)


EXAMPLE = (
    jax.ShapeDtypeStruct((64, 64), jnp.float32),
    jax.ShapeDtypeStruct((64, 4), jnp.float32),
)

if __name__ == "__main__":
    print(jax.make_jaxpr(cholesky_solve)(*EXAMPLE))
