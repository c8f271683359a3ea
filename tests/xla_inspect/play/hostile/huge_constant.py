#: memory, time, limit, crash, tracing, compiler, result, output
# An array of half a gigabyte that becomes part of the program.
import jax.numpy as jnp
import numpy as np

BIG = np.arange(1 << 27, dtype=np.float32)


def f(x):
    return x + jnp.asarray(BIG).reshape(-1, 8)
