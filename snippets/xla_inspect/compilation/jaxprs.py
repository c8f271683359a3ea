"""A jaxpr as plain data: its equations as steps, and how often each primitive occurs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jax.extend import core

from xla_inspect import jax_private
from xla_inspect.analysis import INPUT, JaxprStep
from xla_inspect.captured import Constant, Equations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

FORWARD, BACKWARD = "forward", "backward"


def read_steps(jaxpr: core.Jaxpr) -> tuple[JaxprStep, ...]:
    """Return the inputs and equations of a jaxpr, in order; an equation that holds a jaxpr is one step.

    An equation that JAX made by transposing, which is how it differentiates in reverse, is of the group `backward`.

    Args:
        jaxpr: As `jax.make_jaxpr` returns it.
    """
    steps: list[JaxprStep] = []
    made: dict[Any, int] = {}
    for variable in (*jaxpr.constvars, *jaxpr.invars):
        made[variable] = len(steps)
        steps.append(JaxprStep(INPUT, *_type([variable]), (), FORWARD))
    for equation in jaxpr.eqns:
        uses = tuple(made[operand] for operand in equation.invars if not isinstance(operand, core.Literal))
        made |= dict.fromkeys(equation.outvars, len(steps))
        transposed = "transpose(" in str(equation.source_info.name_stack)
        steps.append(JaxprStep(_name(equation), *_type(equation.outvars), uses, BACKWARD if transposed else FORWARD))
    outputs = (made[variable] for variable in jaxpr.outvars if not isinstance(variable, core.Literal))
    live = _reached(steps, outputs)
    return tuple(replace(step, live=index in live) for index, step in enumerate(steps))


def count_primitives(jaxpr: core.Jaxpr) -> Counter[str]:
    """Return how often each primitive occurs in a jaxpr and in the jaxprs that its equations hold."""
    return Counter(equation.primitive.name for equation in walk_equations(jaxpr))


def walk_equations(jaxpr: core.Jaxpr) -> Iterator[core.JaxprEqn]:
    """Yield every equation, each followed by those of the jaxprs that it holds."""
    for equation in jaxpr.eqns:
        yield equation
        for inner in core.jaxprs_in_params(equation.params):
            yield from walk_equations(inner)


def list_equations(jaxpr: core.Jaxpr) -> tuple[Equations, ...]:
    """Return how many equations, those of inner jaxprs among them, each part of the program has, in order."""
    counts = _count_parts(jaxpr, {})
    return tuple(Equations(scope, function, number) for (scope, function), number in counts.items())


def _count_parts(jaxpr: core.Jaxpr, known: dict[int, Counter[tuple[str, str]]]) -> Counter[tuple[str, str]]:
    # One that is called often is counted once: jaxprs that call others twice each would take for ever.
    if id(jaxpr) in known:
        return known[id(jaxpr)]
    counts = Counter[tuple[str, str]]()
    for equation in jaxpr.eqns:
        scope = str(equation.source_info.name_stack)
        _, function, _ = next(jax_private.walk_frames(equation), ("", "", 0))
        counts[scope, function] += 1
        for inner in core.jaxprs_in_params(equation.params):
            for (below, own), number in _count_parts(inner, known).items():
                counts["/".join(filter(None, (scope, below))), own] += number
    known[id(jaxpr)] = counts
    return counts


LARGE = 1024
"""Bytes above which a constant is listed, and its literal left out of texts."""


def list_constants(closed: Any, name_file: Callable[[str], str]) -> tuple[Constant, ...]:  # noqa: ANN401 - as `_list_closed`
    """Return the arrays of more than `LARGE` bytes that a jaxpr closes over, the largest first.

    Args:
        closed: The jaxpr and its constants; inner ones may have some of their own.
        name_file: What a file is called in a capture.
    """
    found: list[Constant] = []
    seen: set[int] = set()
    waiting = [closed]
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        users = _find_users(current.jaxpr)
        for variable, value in zip(current.jaxpr.constvars, current.consts, strict=True):
            size = getattr(value, "nbytes", 0)
            if size <= LARGE or id(value) in seen:
                continue
            seen.add(id(value))
            frames = [(name_file(file), line) for file, _, line in jax_private.walk_frames(users[variable])]
            file, line = frames[0] if frames else ("", 0)
            found.append(Constant(str(value.dtype), tuple(map(int, value.shape)), int(size), file, line))
        for equation in current.jaxpr.eqns:
            waiting += _list_closed(equation.params)
    return tuple(sorted(found, key=lambda constant: -constant.size))


def _find_users(jaxpr: core.Jaxpr) -> dict[Any, core.JaxprEqn]:
    """The first equation that takes each constant."""
    users: dict[Any, core.JaxprEqn] = {}
    constants = {*jaxpr.constvars}
    for equation in jaxpr.eqns:
        for operand in equation.invars:
            if not isinstance(operand, core.Literal) and operand in constants:
                users.setdefault(operand, equation)
    return users


def _list_closed(parameters: Mapping[str, Any]) -> Iterator[Any]:
    """The jaxprs with constants of their own that an equation holds."""
    for value in parameters.values():
        for each in value if isinstance(value, tuple | list) else (value,):
            if hasattr(each, "jaxpr") and hasattr(each, "consts"):  # the class has had several homes
                yield each


def _reached(steps: Sequence[JaxprStep], outputs: Iterable[int]) -> set[int]:
    """The positions of the steps that the outputs depend on."""
    reached, waiting = set[int](), list(outputs)
    while waiting:
        index = waiting.pop()
        if index not in reached:
            reached.add(index)
            waiting.extend(steps[index].uses)
    return reached


def _name(equation: core.JaxprEqn) -> str:
    """The primitive, with the name of the function where it calls one."""
    name = equation.params.get("name")
    return f"{equation.primitive.name} {name}" if isinstance(name, str) else str(equation.primitive.name)


def _type(variables: list[Any]) -> tuple[str, int]:
    avals = [variable.aval for variable in variables]
    size = sum(aval.size * aval.dtype.itemsize for aval in avals)
    return ", ".join(aval.str_short(short_dtypes=True) for aval in avals), size
