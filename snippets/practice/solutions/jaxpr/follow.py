"""Follow the data: which equations depend on one argument? A solution."""

from jax.extend import core


def follow(jaxpr: core.Jaxpr, argument: int) -> list[str]:
    """Return the primitives of the equations that depend on an argument, in order."""
    reached = {jaxpr.invars[argument]}
    names = []
    for equation in jaxpr.eqns:
        taken = {variable for variable in equation.invars if not isinstance(variable, core.Literal)}
        if taken & reached:
            reached.update(equation.outvars)
            names.append(equation.primitive.name)
    return names
