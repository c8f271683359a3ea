"""Let a training step write its results into the buffers of its arguments.

`update(params, momentum, gradient)` returns the new parameters and the new momentum:

    momentum = 0.9 * momentum + gradient
    params = params - 0.1 * momentum

All three are f32[512,64]. The caller no longer needs the old parameters and the old momentum, but it still needs the
gradient. Jit the function and donate what the caller no longer needs. The compiler can then write each result into the
buffer of the old value, which saves the memory of two matrices.

The check reads `input_output_alias` in the first line of the compiled module.
"""

import jax
import jax.numpy as jnp

EXAMPLE = (jax.ShapeDtypeStruct((512, 64), jnp.float32),) * 3


def update(params: jax.Array, momentum: jax.Array, gradient: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the new parameters and the new momentum, each f32[512,64]."""
    raise NotImplementedError  # TODO(human): the two lines above, and a decorator that donates
