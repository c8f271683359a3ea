"""What the exercises on what grad and vmap add are judged by."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from xla_inspect.capture.jaxprs import walk
from xla_inspect.practice.checking import measures
from xla_inspect.practice.checking.finding import Finding, good, judge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.practice.checking.written import Written

SIZES = ((6, 10), (10,), (10, 4), (4,))


def _shape(*dimensions: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


def check_count_products(written: Written) -> Iterator[Finding]:
    """The products that the jaxprs hold."""
    loss, make = written.function("loss"), written.function("Params")
    params, x, y = make(*(_shape(*size) for size in SIZES)), _shape(8, 6), _shape(8, 4)
    many = (_shape(32, 8, 6), _shape(32, 8, 4))
    programs = {
        "LOSS": ("`loss`", loss, (params, x, y)),
        "GRADIENT": ("`jax.grad(loss)`", jax.grad(loss), (params, x, y)),
        "WITH_INPUT": ("the gradient with respect to the input too", jax.grad(loss, argnums=(0, 1)), (params, x, y)),
        "PER_EXAMPLE": ("`vmap` of the gradient", jax.vmap(jax.grad(loss), in_axes=(None, 0, 0)), (params, *many)),
    }
    for name, (words, program, example) in programs.items():
        answer = written.answer(name, int)
        products = measures.equations(jax.make_jaxpr(program)(*example), "dot_general")
        yield judge(
            answer == len(products),
            f"{words} holds {len(products)}",
            f"{written.locate(name)}: not {answer}. The jaxpr of {words} holds these products",
            products,
            "jaxpr",
        )


def check_per_example(written: Written) -> Iterator[Finding]:
    """The right norms, by a program that does not grow with the batch."""
    norms, loss, make = (written.function(name) for name in ("norms", "loss", "Params"))
    where = written.locate("norms")
    params = make(*(measures.random(*size, seed=seed, scale=0.5) for seed, size in enumerate(SIZES)))
    counted, one = [], jax.jit(jax.grad(loss))
    for batch in (5, 10):
        xs, ys = measures.random(batch, 6, seed=7), measures.random(batch, 4, seed=8)
        measures.expect_shapes(norms, measures.shapes(params, xs, ys), _shape(batch), where)
        each = [jax.tree.leaves(one(params, x, y)) for x, y in zip(xs, ys, strict=True)]
        wanted = np.array([math.sqrt(sum(float((np.asarray(g, np.float64) ** 2).sum()) for g in one)) for one in each])
        measures.expect_numbers(jax.jit(norms)(params, xs, ys), wanted, where)
        counted.append(jax.make_jaxpr(norms)(params, xs, ys))
    yield good("the numbers are those of one gradient after the other")
    few, many = (measures.equations(jaxpr) for jaxpr in counted)
    yield judge(
        len(few) == len(many),
        f"the jaxpr has {len(few)} equations, for five examples and for ten",
        f"{where}: the jaxpr has {len(few)} equations for five examples and {len(many)} for ten: a loop is written "
        "out. Its products are",
        measures.equations(counted[1], "dot_general"),
        "jaxpr",
    )
    loops = measures.equations(counted[1], "scan", "while")
    yield judge(
        not loops,
        "the jaxpr holds no `scan` and no `while`, which would take one example after the other",
        f"{where}: the program holds a loop, which takes one example after the other",
        loops,
        "jaxpr",
    )


def check_hessian_vector(written: Written) -> Iterator[Finding]:
    """The right product, and no value as large as the matrix."""
    curve, where = written.function("curve"), written.locate("curve")
    x, v = measures.random(64, seed=1), measures.random(64, seed=2)
    measures.expect_shapes(curve, measures.shapes(x, v), _shape(64), where)
    measures.expect_numbers(jax.jit(curve)(x, v), _multiply(x, v), where)
    yield good("the numbers are those of the matrix, derived by hand")
    values = walk(jax.make_jaxpr(curve)(x, v))
    large = [each for each in values if any(getattr(out.aval, "size", 0) >= x.size**2 for out in each.outvars)]
    yield judge(
        not large,
        "no value of the jaxpr is as large as the matrix",
        f"{where}: {len(large)} values of the jaxpr have as many numbers as the matrix, {x.size**2:,}",
        dict.fromkeys(measures.print_equation(each) for each in large),
        "jaxpr",
    )


def _multiply(x: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the Hessian of Rosenbrock's function times a vector, derived by hand, in float64."""
    a, b = x[:-1].astype(np.float64), x[1:].astype(np.float64)
    result = np.zeros(len(x))
    result[:-1] += (12 * a**2 - 4 * b + 2) * v[:-1] - 4 * a * v[1:]
    result[1:] += 2 * v[1:] - 4 * a * v[:-1]
    return result
