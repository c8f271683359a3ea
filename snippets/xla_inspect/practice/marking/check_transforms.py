"""Checks of the exercises on grad and vmap."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from xla_inspect.compilation import capture, walk_equations
from xla_inspect.plural import plural
from xla_inspect.practice.marking import check_helpers
from xla_inspect.practice.marking.verdict import Remark, good, judge
from xla_inspect.practice.models import shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jax.extend import core

    from xla_inspect.practice.marking.submission import Submission

SMALL, LARGE = 32, 64
"""The lengths of the vectors that the Hessian is multiplied by."""

DEARER = 8
"""The maximum ratio of the operations of a directional derivative of a gradient and the gradient itself."""

SIZES = ((6, 10), (10,), (10, 4), (4,))


def check_count_products(submission: Submission) -> Iterator[Remark]:
    """Yield remarks on the reader's predicted numbers of matmuls, compared with those in the jaxprs."""
    loss = submission.given.loss
    params, x, y = submission.given.Params(*(shape(*size) for size in SIZES)), shape(8, 6), shape(8, 4)
    many = (shape(32, 8, 6), shape(32, 8, 4))
    programs = {
        "LOSS": ("`loss`", loss, (params, x, y)),
        "GRADIENT": ("`jax.grad(loss)`", jax.grad(loss), (params, x, y)),
        "WITH_INPUT": ("the gradient that includes the input", jax.grad(loss, argnums=(0, 1)), (params, x, y)),
        "PER_EXAMPLE": ("`vmap` of the gradient", jax.vmap(jax.grad(loss), in_axes=(None, 0, 0)), (params, *many)),
    }
    for name, (words, program, example) in programs.items():
        matmuls = check_helpers.equations(jax.make_jaxpr(program)(*example), "dot_general")
        explanation = f"The jaxpr of {words} contains these matmuls.{submission.say_changed('loss')}"
        yield replace(
            submission.judge(name, len(matmuls), f"{words} has {plural(len(matmuls), 'matmul')}", explanation, matmuls),
            language="jaxpr",
        )


def check_per_example(submission: Submission) -> Iterator[Remark]:
    """Yield remarks on `norms`: right norms from a program that does not grow with the batch and has no loop."""
    norms, loss, make = (submission.function(name) for name in ("norms", "loss", "Params"))
    where = submission.locate("norms")
    jaxprs, one = {}, jax.jit(jax.grad(loss))
    inputs = [(5, "random numbers", 1.0), *((10, words, scale) for words, scale in check_helpers.SCALES.items())]
    for batch, words, scale in inputs:
        params = make(*(check_helpers.random(*size, seed=at, scale=0.5 * scale) for at, size in enumerate(SIZES)))
        xs = check_helpers.random(batch, 6, seed=7, scale=scale)
        ys = check_helpers.random(batch, 4, seed=8, scale=scale)
        gradients = [jax.tree.leaves(one(params, x, y)) for x, y in zip(xs, ys, strict=True)]
        expected = np.array(
            [math.sqrt(sum(float((np.asarray(g, np.float64) ** 2).sum()) for g in one)) for one in gradients]
        )
        check_helpers.expect(norms, (params, xs, ys), expected, f"{where}, for {words}")
        jaxprs[f"{batch} examples"] = jax.make_jaxpr(norms)(params, xs, ys)
    yield good("the numbers equal the norms of separately computed gradients")
    yield from check_helpers.judge_loops(jaxprs, "example", where)


def check_hessian_vector(submission: Submission) -> Iterator[Remark]:
    """Yield remarks on `multiply_by_hessian`: its numbers, values as large as the Hessian, loops, and operations."""
    multiply, where = submission.function("multiply_by_hessian"), submission.locate("multiply_by_hessian")
    jaxprs = {}
    inputs = [(LARGE, f"v: {key}", s) for key, s in check_helpers.SCALES.items()]
    inputs.append((SMALL, f"{SMALL} numbers", 1.0))
    for size, words, scale in inputs:
        x, v = check_helpers.random(size, seed=1), check_helpers.random(size, seed=2, scale=scale)
        check_helpers.expect(multiply, (x, v), _multiply(x, v), f"{where}, for {words}")
        jaxprs[size] = jax.make_jaxpr(multiply)(x, v)
    yield good(f"the numbers agree with the Hessian, derived by hand, for {len(inputs)} inputs")
    values = sorted(walk_equations(jaxprs[LARGE]), key=_size, reverse=True)
    # The trick of the exercise is to multiply by the matrix without storing it, so no value may have its size.
    large = [equation for equation in values if _size(equation) >= LARGE**2]
    yield judge(
        not large,
        "no value of the jaxpr is as large as the matrix",
        f"{where}: {plural(len(large), 'value')} of the jaxpr {'has' if len(large) == 1 else 'have'} as many numbers "
        f"as the matrix, {LARGE**2:,}",
        dict.fromkeys(check_helpers.print_equation(equation) for equation in large),
        "jaxpr",
    )
    sizes = {f"{size} numbers": jaxprs[size] for size in (SMALL, LARGE)}
    loops = [*check_helpers.judge_loops(sizes, "column", where)]
    yield from loops
    if large or not all(remark.good for remark in loops):
        return
    times = _count_flops(multiply, 2) / _count_flops(jax.grad(submission.given.energy), 1)
    yield judge(
        times <= DEARER,
        f"the compiled program needs {times:.1f} times the operations of the gradient",
        f"{where}: the compiled program needs {times:.0f} times the operations of the gradient, but a directional "
        "derivative of it needs only about three times. Its largest values are",
        [check_helpers.print_equation(equation) for equation in values],
        "jaxpr",
    )


def _count_flops(function: Callable[..., Any], arguments: int) -> float:
    return capture(function, *(shape(LARGE),) * arguments).cost.flops


def _size(equation: core.JaxprEqn) -> int:
    return max((getattr(out.aval, "size", 0) for out in equation.outvars), default=0)


def _multiply(x: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the product of the Rosenbrock function's Hessian and a vector, derived by hand, in float64."""
    a, b = x[:-1].astype(np.float64), x[1:].astype(np.float64)
    result = np.zeros(len(x))
    result[:-1] += (12 * a**2 - 4 * b + 2) * v[:-1] - 4 * a * v[1:]
    result[1:] += 2 * v[1:] - 4 * a * v[:-1]
    return result
