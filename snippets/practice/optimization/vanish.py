"""Write a program that the compiler optimizes away.

`nothing(x)` returns `x`, f32[64,128], in a roundabout way: its jaxpr has at least six equations, of at least four
different primitives. The optimized module computes nothing: `ENTRY` holds the parameter and a `copy` of it.

Beware: the compiler neither reorders nor cancels additions of floating-point numbers, since each of them rounds.
`x + 1 - 1` is not `x` for it.

The check counts the equations, and lists what `ENTRY` launches. Once it is written,
see for yourself:

    uv run xla-inspect show snippets/practice/optimization/vanish.py:nothing --stage passes
"""

import jax
import jax.numpy as jnp

EXAMPLE = (jax.ShapeDtypeStruct((64, 128), jnp.float32),)


def nothing(x: jax.Array) -> jax.Array:
    """Return x, after at least six operations: f32[64,128] -> f32[64,128]."""
    raise NotImplementedError  # TODO(human): operations that undo each other, or do nothing
