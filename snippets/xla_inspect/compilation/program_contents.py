"""The number of a jaxpr's equations by part of the program, and the large arrays that it closes over.

`jax.extend` is not imported here, because its import makes JAX compile functions again that were already compiled.
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
    """Return the number of equations by named scope and Python function, in order, with those of inner jaxprs."""
    counts = _count_parts(jaxpr, {})
    return tuple(Equations(scope, function, number) for (scope, function), number in counts.items())


def _count_parts(jaxpr: core.Jaxpr, memo: dict[int, Counter[tuple[str, str]]]) -> Counter[tuple[str, str]]:
    # The count of a shared jaxpr is cached: nested jaxprs that each call others twice would take exponential time.
    if id(jaxpr) in memo:
        return memo[id(jaxpr)]
    counts = Counter[tuple[str, str]]()
    for equation in jaxpr.eqns:
        scope = str(equation.source_info.name_stack)
        # JAX's own equations may have no frame in the user's code.
        _, function, _ = next(jax_private.walk_frames(equation), ("", "", 0))
        counts[scope, function] += 1
        for inner in _list_inner(equation):
            for (below, own), number in _count_parts(getattr(inner, "jaxpr", inner), memo).items():
                counts["/".join(filter(None, (scope, below))), own] += number
    memo[id(jaxpr)] = counts
    return counts


LARGE = 1024
"""The size in bytes above which `list_constants` lists a constant."""


def list_constants(closed: Any, name_file: Callable[[str], str]) -> tuple[Constant, ...]:  # noqa: ANN401 - JAX's classes
    """Return the arrays of more than `LARGE` bytes that a jaxpr closes over, largest first.

    Args:
        closed: The jaxpr and its constants; inner jaxprs may have constants of their own.
        name_file: Returns the name of a file in a capture.
    """
    constants: list[Constant] = []
    visited: set[int] = set()
    waiting = [closed]
    while waiting:
        current = waiting.pop()
        if id(current) in visited:
            continue
        visited.add(id(current))
        users = _find_users(current.jaxpr)
        for variable, value in zip(current.jaxpr.constvars, current.consts, strict=True):
            size = getattr(value, "nbytes", 0)
            # Several inner jaxprs may close over the same array, which is listed once.
            if size <= LARGE or id(value) in visited:
                continue
            visited.add(id(value))
            frames = [(name_file(file), line) for file, _, line in jax_private.walk_frames(users[variable])]
            file, line = frames[0] if frames else ("", 0)
            constants.append(Constant(str(value.dtype), tuple(map(int, value.shape)), int(size), file, line))
        for equation in current.jaxpr.eqns:
            waiting += [inner for inner in _list_inner(equation) if hasattr(inner, "consts")]
    return tuple(sorted(constants, key=lambda constant: -constant.size))


def _find_users(jaxpr: core.Jaxpr) -> dict[Any, core.JaxprEqn]:
    """Return the first equation that uses each constant, by the constant's variable."""
    users: dict[Any, core.JaxprEqn] = {}
    constants = {*jaxpr.constvars}
    for equation in jaxpr.eqns:
        for operand in equation.invars:
            # Operands with a `val` are literals, which no variable holds.
            if not hasattr(operand, "val") and operand in constants:
                users.setdefault(operand, equation)
    return users


def _list_inner(equation: core.JaxprEqn) -> Iterator[Any]:
    """Yield the inner jaxprs of an equation, closed (with constants of their own) or not."""
    for value in equation.params.values():
        for parameter in value if isinstance(value, tuple | list) else (value,):
            if hasattr(getattr(parameter, "jaxpr", parameter), "eqns"):
                yield parameter
