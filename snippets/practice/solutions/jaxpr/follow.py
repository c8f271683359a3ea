"""Find the equations of a jaxpr that depend on one argument: a solution."""

from jax.extend import core


def follow(jaxpr: core.Jaxpr, argument: int) -> list[str]:
    """Return the primitives of the equations that depend on an argument, in order."""
    dependent = {jaxpr.invars[argument]}
    names = []
    for equation in jaxpr.eqns:
        inputs = {variable for variable in equation.invars if not isinstance(variable, core.Literal)}
        if inputs & dependent:
            dependent.update(equation.outvars)
            names.append(equation.primitive.name)
    return names
