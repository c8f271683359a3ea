"""Functions that JAX lowers to one CHLO operation each."""

import jax
import jax.numpy as jnp

FUNCTIONS = {
    "acos": jax.lax.acos,
    "acosh": jax.lax.acosh,
    "asinh": jax.lax.asinh,
    "atanh": jax.lax.atanh,
    "cosh": jax.lax.cosh,
    "sinh": jax.lax.sinh,
    "erf": jax.lax.erf,
    "erfc": jax.lax.erfc,
}


def chlo_functions(x: jax.Array) -> list[jax.Array]:
    """Return the results of the eight functions for x, each f32[4,8]."""
    return [function(x) for function in FUNCTIONS.values()]


EXAMPLE = (jax.ShapeDtypeStruct((4, 8), jnp.float32),)

if __name__ == "__main__":
    print(jax.jit(chlo_functions).lower(*EXAMPLE).as_text())
