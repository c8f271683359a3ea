"""A jaxpr as plain data: its equations as steps, and the number of occurrences of each primitive."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jax.extend import core

from xla_inspect.analysis import INPUT, JaxprStep

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

FORWARD, BACKWARD = "forward", "backward"


def read_steps(jaxpr: core.Jaxpr) -> tuple[JaxprStep, ...]:
    """Return the inputs and equations of a jaxpr as steps, in order; an equation with an inner jaxpr is one step.

    Equations that JAX created by transposition, which is part of reverse-mode differentiation, are in the group
    `backward`. A step is `live` if an output depends on it.

    Args:
        jaxpr: As `jax.make_jaxpr` returns it.
    """
    steps: list[JaxprStep] = []
    positions: dict[Any, int] = {}
    for variable in (*jaxpr.constvars, *jaxpr.invars):
        positions[variable] = len(steps)
        steps.append(JaxprStep(INPUT, *_type([variable]), (), FORWARD))
    for equation in jaxpr.eqns:
        # Literals have no producing step.
        uses = tuple(positions[operand] for operand in equation.invars if not isinstance(operand, core.Literal))
        positions |= dict.fromkeys(equation.outvars, len(steps))
        # Nothing else in an equation shows that JAX created it by transposition.
        transposed = "transpose(" in str(equation.source_info.name_stack)
        steps.append(JaxprStep(_name(equation), *_type(equation.outvars), uses, BACKWARD if transposed else FORWARD))
    outputs = (positions[variable] for variable in jaxpr.outvars if not isinstance(variable, core.Literal))
    live = _reached(steps, outputs)
    return tuple(replace(step, live=index in live) for index, step in enumerate(steps))


def count_primitives(jaxpr: core.Jaxpr) -> Counter[str]:
    """Return the number of equations with each primitive in a jaxpr and its inner jaxprs, by the primitive's name."""
    return Counter(equation.primitive.name for equation in walk_equations(jaxpr))


def walk_equations(jaxpr: core.Jaxpr) -> Iterator[core.JaxprEqn]:
    """Yield every equation of a jaxpr, each followed by the equations of its inner jaxprs."""
    for equation in jaxpr.eqns:
        yield equation
        for inner in core.jaxprs_in_params(equation.params):
            yield from walk_equations(inner)


def _reached(steps: Sequence[JaxprStep], outputs: Iterable[int]) -> set[int]:
    """Return the positions of the steps that the outputs depend on."""
    reached, waiting = set[int](), list(outputs)
    while waiting:
        index = waiting.pop()
        if index not in reached:
            reached.add(index)
            waiting.extend(steps[index].uses)
    return reached


def _name(equation: core.JaxprEqn) -> str:
    """Return the name of an equation's primitive, followed by the name of the function that it calls, if any."""
    name = equation.params.get("name")
    return f"{equation.primitive.name} {name}" if isinstance(name, str) else str(equation.primitive.name)


def _type(variables: list[Any]) -> tuple[str, int]:
    avals = [variable.aval for variable in variables]
    size = sum(aval.size * aval.dtype.itemsize for aval in avals)
    return ", ".join(aval.str_short(short_dtypes=True) for aval in avals), size
