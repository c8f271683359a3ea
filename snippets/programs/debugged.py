"""A NaN inside a jitted function, and the error by which `jax_debug_nans` names the operation that made it."""

import logging
from contextlib import redirect_stdout
from io import StringIO

import jax
import jax.numpy as jnp


@jax.jit
def shifted_log(x: jax.Array) -> jax.Array:
    """Return log(x) + 1."""
    return jnp.log(x) + 1


def debugged() -> str:
    """Return the error that a negative number leads to."""
    jax.config.update("jax_debug_nans", True)  # noqa: FBT003 - the option's value
    # JAX also logs, and prints, that it runs the function again without jit.
    logging.disable(logging.WARNING)
    try:
        with redirect_stdout(StringIO()):
            shifted_log(jnp.float32(-1))
    except FloatingPointError as error:
        return str(error)
    finally:
        logging.disable(logging.NOTSET)
        jax.config.update("jax_debug_nans", False)  # noqa: FBT003 - likewise
    return ""


if __name__ == "__main__":
    print(debugged())
