"""Follow the data: which equations depend on one argument?

`follow(jaxpr, argument)` returns the names of the primitives of those equations that depend on an argument, directly
or through other equations, in the order of the jaxpr. Arguments are numbered from 0.

Of `lambda x, y: jnp.sin(x) * y + 1.0` the equations are `sin`, `mul` and `add`: on argument 0 depend all of them, on
argument 1 `mul` and `add`. An equation that holds a jaxpr counts as one; do not look into it.

The check compares with its own walk over three programs, and shows the equation where the two part.
"""

from jax.extend import core


def follow(jaxpr: core.Jaxpr, argument: int) -> list[str]:
    """Return the primitives of the equations that depend on an argument, in order."""
    raise NotImplementedError  # TODO(human): keep a set of the variables that depend on it
