"""Count the primitives of a program, also those inside inner jaxprs: a solution."""

from collections import Counter

from jax.extend import core


def count(jaxpr: core.Jaxpr) -> dict[str, int]:
    """Return how often each primitive occurs in a jaxpr and in those that its equations hold."""
    found: Counter[str] = Counter()
    for equation in jaxpr.eqns:
        found[equation.primitive.name] += 1
        for inner in core.jaxprs_in_params(equation.params):
            found.update(count(inner))
    return dict(found)
