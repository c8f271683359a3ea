"""Look at what a function is given in place of an array."""

import jax
import jax.numpy as jnp

seen: list[str] = []


def look(x: jax.Array) -> jax.Array:
    """Note x as Python prints it, and return its double."""
    seen.append(repr(x))
    return 2 * x


EXAMPLE = (jnp.ones(3),)

if __name__ == "__main__":
    for call in (look, jax.jit(look), jax.vmap(look)):
        call(*EXAMPLE)
    jax.grad(look)(1.0)
    print(*seen, sep="\n")
