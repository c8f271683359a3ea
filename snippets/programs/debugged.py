"""A NaN inside a jitted function, and the error by which `jax_debug_nans` names the operation that made it, or none."""

import logging
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO

import jax
import jax.numpy as jnp


@jax.jit
def shifted_log(x: jax.Array) -> jax.Array:
    """Return log(x) + 1."""
    return jnp.log(x) + 1


def root_of_difference(x: jax.Array, y: jax.Array, z: jax.Array) -> jax.Array:
    """Return sqrt(x * y - z)."""
    return jnp.sqrt(x * y - z)


def debugged() -> str:
    """Return the message of `jax_debug_nans`' error for a jitted logarithm of -1."""
    return explain(lambda: shifted_log(jnp.float32(-1)))


def made_by_the_compiler() -> dict[str, int | str]:
    """Return the numbers of NaNs of `root_of_difference` eagerly and under jit, and the error under jit, or ''."""
    x, y = jnp.linspace(1, 2, 1000), jnp.linspace(3, 4, 1000)
    z = x * y
    eagerly = int(jnp.isnan(root_of_difference(x, y, z)).sum())
    compiled = int(jnp.isnan(jax.jit(root_of_difference)(x, y, z)).sum())
    error = explain(lambda: jax.jit(root_of_difference)(x, y, z))
    return {"eagerly": eagerly, "under jit": compiled, "error": error}


def explain(call: Callable[[], object]) -> str:
    """Return the message of the error that `jax_debug_nans` raises during a call; '' if it raises none."""
    # JAX also logs, and prints, that it runs the function again without jit.
    logging.disable(logging.WARNING)
    try:
        with redirect_stdout(StringIO()), jax.debug_nans(True):  # noqa: FBT003 - the option's value
            jax.block_until_ready(call())
    except FloatingPointError as error:
        return str(error)
    finally:
        logging.disable(logging.NOTSET)
    return ""


if __name__ == "__main__":
    print(debugged())
    print(made_by_the_compiler())
