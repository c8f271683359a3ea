"""A function that records its argument, which under `jit`, `vmap` and `grad` is a tracer instead of an array."""

import jax
import jax.numpy as jnp

seen: list[str] = []


def look(x: jax.Array) -> jax.Array:
    """Append the repr of x to `seen`, and return x."""
    seen.append(repr(x))
    return x


EXAMPLE = (jax.ShapeDtypeStruct((3,), jnp.float32),)

if __name__ == "__main__":
    for call in (look, jax.jit(look), jax.vmap(look)):
        call(jnp.ones(3))
    jax.grad(look)(1.0)
    print(*seen, sep="\n")
