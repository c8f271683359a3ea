#: time, limit, compiler, memory
# Quick to trace; what is left to the compiler is a product that it multiplies out, by hand, as a constant.
import jax.numpy as jnp
import numpy as np
from jax import lax

ONE = np.arange(1600 * 1600, dtype=np.float32).reshape(1600, 1600)


def f(x):
    a = jnp.asarray(ONE)
    for _ in range(60):
        a = lax.dot(a, jnp.asarray(ONE))
    return x + a[0, 0]
