"""What a jaxpr is made of, counted by part of the program, and the large arrays that it closes over.

Nothing of `jax.extend` is imported for it: its import lets JAX compile anew what the reader had compiled before.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from xla_inspect import jax_private
from xla_inspect.captured import Constant, Equations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jax.extend import core


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
        for inner in _list_inner(equation):
            for (below, own), number in _count_parts(getattr(inner, "jaxpr", inner), known).items():
                counts["/".join(filter(None, (scope, below))), own] += number
    known[id(jaxpr)] = counts
    return counts


LARGE = 1024
"""Bytes above which a constant is listed, and its literal left out of texts."""


def list_constants(closed: Any, name_file: Callable[[str], str]) -> tuple[Constant, ...]:  # noqa: ANN401 - JAX's classes, see above
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
            waiting += [inner for inner in _list_inner(equation) if hasattr(inner, "consts")]
    return tuple(sorted(found, key=lambda constant: -constant.size))


def _find_users(jaxpr: core.Jaxpr) -> dict[Any, core.JaxprEqn]:
    """The first equation that takes each constant."""
    users: dict[Any, core.JaxprEqn] = {}
    constants = {*jaxpr.constvars}
    for equation in jaxpr.eqns:
        for operand in equation.invars:
            if not hasattr(operand, "val") and operand in constants:
                users.setdefault(operand, equation)
    return users


def _list_inner(equation: core.JaxprEqn) -> Iterator[Any]:
    """The jaxprs that an equation holds, with constants of their own or without."""
    for value in equation.params.values():
        for each in value if isinstance(value, tuple | list) else (value,):
            if hasattr(getattr(each, "jaxpr", each), "eqns"):
                yield each
