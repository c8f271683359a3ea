"""Checks of the exercises on jaxprs."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import zip_longest
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any
from unittest import mock

import jax
import jax.numpy as jnp
from jax.extend import core

from xla_inspect.compilation import count_primitives, walk_equations
from xla_inspect.plural import plural
from xla_inspect.practice.marking import check_helpers
from xla_inspect.practice.marking.verdict import Remark, WrongError, bad, good, judge
from xla_inspect.practice.models import shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from xla_inspect.practice.marking.submission import Submission

X, W = shape(16, 8), shape(8, 4)


def _layer(x: jax.Array, w: jax.Array) -> jax.Array:
    return jnp.maximum(x @ w + 1.0, 0.0)


def _inner(x: jax.Array, w: jax.Array) -> jax.Array:
    return jax.nn.relu(x @ w) + jax.nn.relu(w.sum())


def _loop(x: jax.Array, w: jax.Array) -> jax.Array:
    def body(carry: jax.Array, row: jax.Array) -> tuple[jax.Array, None]:
        return jax.nn.relu(carry + row @ w), None

    return jax.lax.scan(body, jnp.zeros(4), x)[0]


def _branches(x: jax.Array, w: jax.Array) -> jax.Array:
    result: jax.Array = jax.lax.cond(w.sum() > 0, lambda: jnp.sin(x @ w), lambda: jnp.cos(x @ w) * 2)
    return result


def _while(x: jax.Array, w: jax.Array) -> jax.Array:
    return jax.lax.while_loop(lambda y: jnp.sin(y).sum() < 1, lambda y: y * 2 + 1, x @ w)


def _ranks(x: jax.Array, _: jax.Array) -> jax.Array:
    return jax.lax.top_k(jnp.sin(x), 2)[1].sum()


def _normal(x: jax.Array, w: jax.Array) -> jax.Array:
    d = jnp.tanh(x @ w)
    return d / jnp.sqrt(jnp.sum(d * d, axis=1, keepdims=True))


def _mixed(x: jax.Array, w: jax.Array) -> jax.Array:
    return (jnp.sin(x).sum() + 1.0) * jnp.cos(w) - jnp.exp(x @ w).mean()


def check_primitives(submission: Submission) -> Iterator[Remark]:
    """Yield remarks on `count`, compared with the project's own counts of the primitives in a jaxpr."""
    count, where = submission.function("count"), submission.locate("count")
    programs = {
        "a layer": _layer,
        "jitted functions": _inner,
        "a loop": _loop,
        "two branches": _branches,
        "a loop with a condition": _while,
    }
    for name, program in programs.items():
        jaxpr = jax.make_jaxpr(program)(X, W)
        counts, expected = count(jaxpr), dict(count_primitives(jaxpr))
        if not isinstance(counts, dict):
            raise WrongError(bad(f"{where}: it returns {check_helpers.say_shape(counts)} instead of a dict"))
        strange = next((key for key in counts if not isinstance(key, str)), None)
        if strange is not None:
            kind = type(strange).__name__
            raise WrongError(
                bad(f"{where}: a key of the dict is of type {kind}, but each key must be a name of type str")
            )
        wrong = sorted(key for key in {*counts, *expected} if counts.get(key, 0) != expected.get(key, 0))
        differences = ", ".join(
            f"`{key}` {plural(counts.get(key, 0), 'time')} instead of {expected.get(key, 0)}" for key in wrong
        )
        # Equations are compared by identity, because an inner jaxpr may have an equation that looks the same.
        outer = {id(equation) for equation in jaxpr.eqns}
        inside = [
            equation
            for equation in walk_equations(jaxpr)
            if id(equation) not in outer and equation.primitive.name in wrong
        ]
        reason = "; these equations are in inner jaxprs" if inside else "; these are the equations"
        listing = list(map(check_helpers.print_equation, inside)) or check_helpers.equations(jaxpr, *wrong)
        yield judge(
            not wrong,
            f"{name}: {sum(expected.values())} equations of {len(expected)} primitives",
            f"{where}: in the program with {name}, it counts {differences}{reason}",
            listing,
            "jaxpr",
        )
        if wrong:
            return
        if _needs_text(count, jaxpr, answer=counts):
            text = (
                "it counts in the text of the jaxpr; go through `jaxpr.eqns`, in which each equation has a `primitive`"
            )
            raise WrongError(bad(f"{where}: {text}"))


def _needs_text(function: Callable[..., object], jaxpr: core.Jaxpr, *rest: int, answer: object) -> bool:
    """Return whether a function gives another answer for a jaxpr, or fails, when jaxprs and equations have no text."""
    with _withhold_text(jaxpr):
        try:
            return function(jaxpr, *rest) != answer
        except Exception:  # noqa: BLE001 - the same call succeeded with the texts
            return True


def _withhold_text(jaxpr: core.Jaxpr) -> ExitStack:
    """Return a context in which the texts of jaxprs and equations are empty."""
    stack = ExitStack()
    # In some releases of JAX, a jaxpr and its inner jaxprs are of two classes.
    kinds = {type(jaxpr), core.Jaxpr, core.JaxprEqn}
    names = ("__str__", "__repr__", "pretty_print")
    for kind, name in ((kind, name) for kind in kinds for name in names if name in vars(kind)):
        stack.enter_context(mock.patch.object(kind, name, return_value=""))
    return stack


def check_follow(submission: Submission) -> Iterator[Remark]:
    """Yield remarks on `follow`, compared with the project's own list of the equations that depend on an argument."""
    follow, where = submission.function("follow"), submission.locate("follow")
    programs = {
        "a layer": _layer,
        "normalized rows": _normal,
        "sines and cosines": _mixed,
        "an equation with several results": _ranks,
    }
    for name, program in programs.items():
        jaxpr = jax.make_jaxpr(program)(X, W)
        for argument in range(2):
            answer = follow(jaxpr, argument)
            expected = _reach(jaxpr, argument)
            if not isinstance(answer, list):
                raise WrongError(bad(f"{where}: it returns {check_helpers.say_shape(answer)} instead of a list"))
            names = [equation.primitive.name for equation in expected]
            part = next((at for at, pair in enumerate(zip_longest(answer, names)) if pair[0] != pair[1]), None)
            if part is not None:
                answered = f"`{answer[part]}`" if part < len(answer) else "nothing more"
                dependent = f"`{names[part]}` depends on it:" if part < len(names) else "no more equations depend on it"
                text = (
                    f"{where}: {name}, argument {argument}: after {plural(part, 'right name')}, it returns {answered}, "
                    f"but {dependent}"
                )
                yield bad(text, [check_helpers.print_equation(step) for step in expected[part : part + 1]], "jaxpr")
                return
            if _needs_text(follow, jaxpr, argument, answer=answer):
                text = (
                    "it reads the text of the jaxpr; go through `jaxpr.eqns`, in which each equation has `invars`, "
                    "`outvars` and a `primitive`"
                )
                raise WrongError(bad(f"{where}: {text}"))
        yield good(f"{name}: right for both arguments, with {plural(len(jaxpr.eqns), 'equation')}")


def _reach(jaxpr: core.Jaxpr, argument: int) -> list[core.JaxprEqn]:
    reached: set[Any] = {jaxpr.invars[argument]}
    equations = []
    for equation in jaxpr.eqns:
        # Literals are not hashable, so they must not be looked up in the set.
        if any(not isinstance(variable, core.Literal) and variable in reached for variable in equation.invars):
            reached.update(equation.outvars)
            equations.append(equation)
    return equations


def check_from_jaxpr(submission: Submission) -> Iterator[Remark]:
    """Yield remarks on `original`, whose jaxpr must have the same connected equations as a given program's jaxpr."""
    original, where = submission.function("original"), submission.locate("original")
    # Names of variables depend on JAX's printer, so the equations are compared by their connections.
    ours, theirs = jax.make_jaxpr(_normal)(X, W), _trace(original)
    for number, (ours_line, their_line) in enumerate(zip_longest(_wire(ours), _wire(theirs)), 1):
        if ours_line != their_line:
            numbers = ", although the numbers are the same" if _agree(original) else ""
            text = f"{where}: equation {number} of its jaxpr differs{numbers}. The original's comes first, then yours:"
            yield bad(text, [ours_line or "no such equation", their_line or "no such equation"], "jaxpr")
            return
    yield judge(
        _outputs(ours) == _outputs(theirs),
        f"all {len(ours.eqns)} equations and the result are the same",
        f"{where}: the equations are the same, but it returns the result of another equation",
        [f"returns {_outputs(theirs)}, the original {_outputs(ours)}"],
    )


def _trace(function: Callable[..., Any]) -> core.Jaxpr:
    """Return the jaxpr of the reader's function, or its inner jaxpr if the whole function is jitted."""
    jaxpr = jax.make_jaxpr(function)(X, W)
    # A decorator `jax.jit` wraps the whole jaxpr into one equation, which is no mistake of the reader.
    while len(jaxpr.eqns) == 1 and jaxpr.eqns[0].primitive.name == "jit":
        (inner,) = core.jaxprs_in_params(jaxpr.eqns[0].params)
        jaxpr = inner
    return jaxpr


def _wire(jaxpr: core.Jaxpr) -> list[str]:
    """Return the equations as lines, with variables named in the order in which they are defined."""
    numbers = _number(jaxpr)

    def say(variable: Any) -> str:  # noqa: ANN401 - a variable or a literal
        return str(variable.val) if isinstance(variable, core.Literal) else numbers[variable]

    return [
        f"{', '.join(f'{say(result)}:{result.aval.str_short(short_dtypes=True)}' for result in equation.outvars)} = "
        f"{equation.primitive.name} {' '.join(map(say, equation.invars))}"
        for equation in jaxpr.eqns
    ]


def _number(jaxpr: core.Jaxpr) -> dict[Any, str]:
    variables = [*jaxpr.constvars, *jaxpr.invars, *(result for equation in jaxpr.eqns for result in equation.outvars)]
    return {
        variable: ascii_lowercase[at] if at < len(ascii_lowercase) else f"v{at}"
        for at, variable in enumerate(variables)
    }


def _outputs(jaxpr: core.Jaxpr) -> str:
    numbers = _number(jaxpr)
    return ", ".join(numbers.get(result, str(result)) for result in jaxpr.outvars)


def _agree(function: Callable[..., Any]) -> bool:
    """Return whether a function returns the same numbers as the original; False if it raises an error."""
    a, b = check_helpers.random(16, 8), check_helpers.random(8, 4, seed=1)
    try:
        return bool(jnp.allclose(function(a, b), _normal(a, b), rtol=1e-4, atol=1e-5))
    except Exception:  # noqa: BLE001 - the caller reports the difference anyway
        return False
