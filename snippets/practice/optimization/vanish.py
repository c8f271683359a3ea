"""Write a program that the compiler optimizes away.

`nothing(x)` returns `x`, f32[64,128], in a roundabout way: its jaxpr has at least six equations with at least four
different primitives. The optimized module computes nothing: `ENTRY` contains only the parameter and a `copy` of it.

The compiler neither reorders nor cancels additions of floating-point numbers, because each addition rounds. It does not
replace `x + 1 - 1` by `x`.

The check counts the equations and lists the launches of `ENTRY`. When the function is written, look at the passes:

    uv run xla-inspect show snippets/practice/optimization/vanish.py:nothing --stage passes
"""

import jax
import jax.numpy as jnp

EXAMPLE = (jax.ShapeDtypeStruct((64, 128), jnp.float32),)


def nothing(x: jax.Array) -> jax.Array:
    """Return x after at least six operations: f32[64,128] -> f32[64,128]."""
    raise NotImplementedError  # TODO(human): operations that cancel out or do nothing
