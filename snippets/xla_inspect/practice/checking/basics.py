"""What the exercises on jit, grad and vmap are judged by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from xla_inspect import capture
from xla_inspect.practice.checking import measures
from xla_inspect.practice.checking.finding import Finding, bad, good, judge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.practice.checking.written import Written

LAYERS = 2
"""Layers of the network, each with one product."""

DEARER = 5
"""How many times the operations of a loss its gradient in reverse may take; it takes about three."""


def check_mlp(written: Written) -> Iterator[Finding]:
    """Two products in one program, of which each call uses all parameters."""
    mlp, where = written.function("mlp"), written.locate("mlp")
    make = written.function("Params")
    sizes = ((64, 128), (128,), (128, 16), (16,))
    params = make(*(jnp.asarray(measures.random(*size, seed=seed, scale=0.2)) for seed, size in enumerate(sizes)))
    x = jnp.asarray(measures.random(32, 64, seed=9))
    measures.expect_shapes(mlp, measures.shapes(params, x), jax.ShapeDtypeStruct((32, 16), np.float32), where)
    with measures.compiles() as first:
        result = mlp(params, x)
    for given, found in ((params, result), (make(*(2 * each for each in params)), None)):
        w1, b1, w2, b2, rows = (np.asarray(each) for each in (*given, x))
        wanted = np.maximum(rows @ w1 + b1, 0) @ w2 + b2
        measures.expect_numbers(mlp(given, x) if found is None else found, wanted, where)
    yield good("the numbers are right, for two sets of parameters")
    taken = capture(mlp, *measures.shapes(params, x))
    products = measures.find_all(taken.module, "dot")
    yield judge(
        len(products) == LAYERS,
        "the compiled program holds two matrix products, one for each layer",
        f"{where}: the compiled program holds {len(products)} matrix products, and two layers need two; is a loop "
        "over the examples written out? `@` takes the whole batch",
        measures.lines(products),
        "hlo",
    )
    yield judge(
        len(first) == 1,
        "a call compiles one program",
        f"{where}: one call compiles {len(first)} programs, so that each operation runs alone and nothing is fused; "
        "decorate the function with `@jax.jit`",
        first,
    )
    with measures.compiles() as second:
        mlp(params, x)
    yield judge(not second, "a second call compiles nothing", f"{where}: a second call compiles again", second)


def check_gradient(written: Written) -> Iterator[Finding]:
    """The right numbers, for about three times the work of the loss."""
    gradient, loss, make = (written.function(name) for name in ("gradient", "loss", "Params"))
    where = written.locate("gradient")
    sizes = ((6, 10), (10,), (10, 4), (4,))
    params = make(*(measures.random(*size, seed=seed, scale=0.5) for seed, size in enumerate(sizes)))
    x, y = measures.random(8, 6, seed=7), measures.random(8, 4, seed=8)
    measures.expect_shapes(gradient, measures.shapes(params, x, y), measures.shapes(params)[0], where)
    measures.expect_numbers(jax.jit(gradient)(params, x, y), _derive(params, x, y), where)
    yield good("the numbers are those of a derivation by hand")
    example = measures.shapes(params, x, y)
    taken, alone = capture(gradient, *example), capture(loss, *example)
    times = taken.cost.flops / alone.cost.flops
    products = measures.find_all(taken.module, "dot")
    yield judge(
        times <= DEARER,
        f"the compiled program takes {times:.1f} times the operations of the loss, with {len(products)} products",
        f"{where}: the compiled program takes {times:.0f} times the operations of the loss, and a gradient in reverse "
        "about three times; is the loss computed once for each parameter? See how large its products are:",
        measures.lines(sorted(products, key=lambda each: -each.shape.bytes)),
        "hlo",
    )


def _derive(params: Any, x: Any, y: Any) -> Any:  # noqa: ANN401 - the reader's Params of NumPy's arrays
    """Return the gradient of the mean square error, derived by hand and computed in float64."""
    w1, b1, w2, b2, x, y = (np.asarray(each, np.float64) for each in (*params, x, y))
    before = x @ w1 + b1
    hidden = np.maximum(before, 0)
    error = 2 * (hidden @ w2 + b2 - y) / y.size
    back = (error @ w2.T) * (before > 0)
    return type(params)(x.T @ back, back.sum(0), hidden.T @ error, error.sum(0))


def check_pairwise(written: Written) -> Iterator[Finding]:
    """As many equations for many pairs as for few, and no loop."""
    pairwise, where = written.function("pairwise"), written.locate("pairwise")
    counted = []
    for n, m in ((4, 6), (8, 12)):
        xs, ys = measures.random(n, 3, seed=n), measures.random(m, 3, seed=m)
        measures.expect_shapes(pairwise, measures.shapes(xs, ys), jax.ShapeDtypeStruct((n, m), np.float32), where)
        wanted = np.sqrt(((xs[:, None, :].astype(np.float64) - ys[None]) ** 2).sum(-1))
        measures.expect_numbers(jax.jit(pairwise)(xs, ys), wanted, where)
        counted.append(measures.equations(jax.make_jaxpr(pairwise)(xs, ys)))
    yield good("the numbers are right, for 4 x 6 pairs and for 8 x 12")
    few, many = counted
    yield judge(
        len(few) == len(many),
        f"the jaxpr has {len(few)} equations, for few pairs and for many",
        f"{where}: the jaxpr has {len(few)} equations for 4 x 6 pairs and {len(many)} for 8 x 12: a Python loop is "
        "written out, and the program grows with the data. It begins so:",
        many,
        "jaxpr",
    )
    loops = measures.equations(jax.make_jaxpr(pairwise)(xs, ys), "scan", "while")
    yield judge(
        not loops,
        "the jaxpr holds no `scan` and no `while`, which would compute one piece after the other",
        f"{where}: the program holds a loop, which computes one piece after the other",
        loops,
        "jaxpr",
    )


def check_compile_once(written: Written) -> Iterator[Finding]:
    """One compile of the step for all rates."""
    train, where = written.function("train"), written.locate("train")
    weights = jnp.asarray(measures.random(256))
    gradients = [jnp.asarray(measures.random(256, seed=seed)) for seed in (1, 2, 3, 4)]
    seen = []
    for rates in ((0.1, 0.05, 1, 0.025), (0.2, 2, 0.3, 0.7)):
        wanted = weights - sum(rate * gradient for rate, gradient in zip(rates, gradients, strict=True))
        with measures.compiles() as lines:
            result = train(weights, gradients, rates)
        measures.expect_shapes(lambda found=result: found, (), jax.ShapeDtypeStruct((256,), np.float32), where)
        measures.expect_numbers(result, wanted, where)
        seen.append(lines)
    yield good("the numbers are right, for two lists of rates")
    first, second = seen
    steps = [line for line in first if line.startswith("compiled update ")]
    if not first:
        yield bad(f"{where}: nothing is compiled at all; are these JAX's operations, and is `update` jitted?")
        return
    reasons = []
    if len(set(steps)) < len(steps):
        reasons.append("lines that are alike differ in what they do not list, a static argument, which is in the key")
    if any("int32" in line for line in steps):
        reasons.append("a rate of type int makes another program than one of type float")
    yield judge(
        len(steps) <= 1,
        "all steps share one compiled program",
        f"{where}: four steps compile {len(steps)} programs, where one serves: "
        + ("; ".join(reasons) or "their arguments differ"),
        steps,
    )
    yield judge(
        not second,
        "other rates compile nothing",
        f"{where}: other rates compile again; is each value part of the key, or each list of types?",
        second,
    )
