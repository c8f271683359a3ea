#: time
# What JAX looks up by its hash does not let itself be hashed.
import jax


class Slow:
    def __hash__(self):
        while True:
            pass


def f(x):
    return jax.jit(lambda y, how: y, static_argnums=1)(x, Slow())
