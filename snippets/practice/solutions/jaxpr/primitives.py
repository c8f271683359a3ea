"""Count the primitives of a program, including those in inner jaxprs: a solution."""

from collections import Counter

from jax.extend import core


def count(jaxpr: core.Jaxpr) -> dict[str, int]:
    """Return how often each primitive occurs in a jaxpr and in its inner jaxprs."""
    counts: Counter[str] = Counter()
    for equation in jaxpr.eqns:
        counts[equation.primitive.name] += 1
        for inner in core.jaxprs_in_params(equation.params):
            counts.update(count(inner))
    return dict(counts)
