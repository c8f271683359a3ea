"""Checks of the exercises on jit, grad and vmap."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from xla_inspect.compilation import capture
from xla_inspect.plural import plural
from xla_inspect.practice.marking import check_helpers
from xla_inspect.practice.marking.verdict import Remark, bad, good, judge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.practice.marking.submission import Submission

_SHAPE = re.compile(r"\w+\[[\d,]*\]")

LAYERS = 2
"""The number of layers of the network, each with one matmul."""

# The bound leaves room for other formulations but excludes one loss for each parameter.
DEARER = 5
"""The maximum ratio of the operations of a gradient and its loss; a reverse-mode gradient needs about three."""


def check_mlp(submission: Submission) -> Iterator[Remark]:
    """Yield remarks on `mlp`: right numbers from one compiled program with two matmuls, which a second call reuses."""
    mlp, where = submission.function("mlp"), submission.locate("mlp")
    make = submission.function("Params")
    sizes = ((64, 128), (128,), (128, 16), (16,))
    params = make(*(jnp.asarray(check_helpers.random(*size, seed=seed, scale=0.2)) for seed, size in enumerate(sizes)))
    x = jnp.asarray(check_helpers.random(32, 64, seed=9))
    check_helpers.expect_shapes(mlp, check_helpers.shapes(params, x), jax.ShapeDtypeStruct((32, 16), np.float32), where)
    with check_helpers.compiles() as first:
        result = mlp(params, x)
    for words, scale in check_helpers.SCALES.items():
        weights = make(*(jnp.float32(scale) * weight for weight in params))
        w1, b1, w2, b2, rows = (np.asarray(array) for array in (*weights, x))
        expected = np.maximum(rows @ w1 + b1, 0) @ w2 + b2
        numbers = mlp(weights, x) if result is None else result
        check_helpers.expect_numbers(numbers, expected, f"{where}, for {words}")
        result = None
    yield good(f"the numbers are right for {len(check_helpers.SCALES)} sets of parameters")
    compilation = capture(mlp, *check_helpers.shapes(params, x))
    matmuls = check_helpers.find_all(compilation.module, "dot")
    yield judge(
        len(matmuls) == LAYERS,
        "the compiled program contains two matmuls, one for each layer",
        f"{where}: the compiled program contains {plural(len(matmuls), 'matmul')}, but two layers need two; did you "
        "loop over the examples? `@` multiplies the whole batch",
        check_helpers.lines(matmuls),
        "hlo",
    )
    yield judge(
        len(first) == 1,
        "a call compiles one program",
        f"{where}: one call compiles {plural(len(first), 'program')}, so each operation runs alone and nothing is "
        "fused; decorate the function with `@jax.jit`",
        first,
    )
    # The first call may compile; only a second call with the same shapes shows whether the program is reused.
    with check_helpers.compiles() as second:
        mlp(params, x)
    yield judge(not second, "a second call compiles nothing", f"{where}: a second call compiles again", second)


def check_gradient(submission: Submission) -> Iterator[Remark]:
    """Yield remarks on `gradient`: right numbers, with at most `DEARER` times the operations of the loss."""
    gradient, loss, make = (submission.function(name) for name in ("gradient", "loss", "Params"))
    where = submission.locate("gradient")
    sizes = ((6, 10), (10,), (10, 4), (4,))
    for words, scale in check_helpers.SCALES.items():
        params = make(*(check_helpers.random(*size, seed=at, scale=0.5 * scale) for at, size in enumerate(sizes)))
        x, y = check_helpers.random(8, 6, seed=7, scale=scale), check_helpers.random(8, 4, seed=8, scale=scale)
        check_helpers.expect(gradient, (params, x, y), _derive(params, x, y), f"{where}, for {words}")
    yield good(f"the numbers agree with a gradient derived by hand, for {len(check_helpers.SCALES)} inputs")
    example = check_helpers.shapes(params, x, y)
    compilation, alone = capture(gradient, *example), capture(loss, *example)
    times = compilation.cost.flops / alone.cost.flops
    matmuls = check_helpers.find_all(compilation.module, "dot")
    yield judge(
        times <= DEARER,
        f"the compiled program needs {times:.1f} times the operations of the loss, with {len(matmuls)} matmuls",
        f"{where}: the compiled program needs {times:.0f} times the operations of the loss, but a reverse-mode "
        "gradient needs only about three times; do you compute the loss once for each parameter? Its matmuls are:",
        check_helpers.lines(sorted(matmuls, key=lambda matmul: -matmul.shape.bytes)),
        "hlo",
    )


def _derive(params: Any, x: Any, y: Any) -> Any:  # noqa: ANN401 - the reader's Params of NumPy's arrays
    """Return the gradient of the mean square error, derived by hand and computed in float64."""
    w1, b1, w2, b2, x, y = (np.asarray(array, np.float64) for array in (*params, x, y))
    before = x @ w1 + b1
    hidden = np.maximum(before, 0)
    error = 2 * (hidden @ w2 + b2 - y) / y.size
    back = (error @ w2.T) * (before > 0)
    return type(params)(x.T @ back, back.sum(0), hidden.T @ error, error.sum(0))


def check_pairwise(submission: Submission) -> Iterator[Remark]:
    """Yield remarks on `pairwise`: right numbers, the same number of equations for few and many pairs, and no loop."""
    pairwise, where = submission.function("pairwise"), submission.locate("pairwise")
    inputs = {
        f"{n} x {m} pairs": (check_helpers.random(n, 3, seed=n), check_helpers.random(m, 3, seed=m))
        for n, m in ((4, 6), (8, 12), (7, 1))
    }
    far = check_helpers.random(5, 3) + np.float32(100)
    inputs["points far from zero"] = far, far[::-1].copy()
    for words, (xs, ys) in inputs.items():
        expected = np.sqrt(((xs[:, None, :].astype(np.float64) - ys[None]) ** 2).sum(-1))
        check_helpers.expect(pairwise, (xs, ys), expected, f"{where}, for {words}")
    yield good(f"the numbers are right for {', for '.join(inputs)}")
    jaxprs = {words: jax.make_jaxpr(pairwise)(*inputs[words]) for words in [*inputs][:2]}
    yield from check_helpers.judge_loops(jaxprs, "row", where)


def _is_step(shapes: list[str]) -> bool:
    """Return whether a program with arguments of these shapes computes a step or a part of it, and not only stacks."""
    # Stacking the gradients into one array is a program with many equal arguments, which is not a step.
    stacks = len(shapes) > len(("weights", "gradient")) and len(set(shapes)) == 1
    return len(shapes) > 1 and "float32[256]" in shapes and not stacks


def check_compile_once(submission: Submission) -> Iterator[Remark]:
    """Yield remarks on `train`: right numbers, and one compilation of the step for all rates."""
    train, where = submission.function("train"), submission.locate("train")
    start, *slopes = (check_helpers.random(256, seed=seed) for seed in range(5))
    weights, gradients = jnp.asarray(start), [jnp.asarray(slope) for slope in slopes]
    compilations = []
    for rates in ((0.1, 0.05, 1, 0.025), (0.2, 2, -0.3, 0)):
        # The expected numbers come from NumPy, so that JAX compiles nothing for them.
        expected = start - sum(rate * slope for rate, slope in zip(rates, slopes, strict=True))
        with check_helpers.compiles() as lines:
            result = train(weights, gradients, rates)
        check_helpers.expect_shapes(lambda weights=result: weights, (), jax.ShapeDtypeStruct((256,), np.float32), where)
        check_helpers.expect_numbers(result, expected, where)
        compilations.append(lines)
    yield good("the numbers are right for two lists of rates")
    first, second = compilations
    steps = [line for line in first if _is_step(_SHAPE.findall(line))]
    if not first:
        yield bad(f"{where}: JAX compiles nothing; do you use JAX's operations, and is `update` jitted?")
        return
    reasons = []
    if len(set(steps)) < len(steps):
        reasons.append("equal lines differ in a static argument, which is part of the key but is not listed")
    elif not any(len(_SHAPE.findall(line)) >= len(("weights", "gradient", "rate")) for line in steps):
        reasons.append(
            "no program has the weights, the gradient and the rate as arguments, so operations run alone; is the whole "
            "function `update` jitted?"
        )
    if any("int32" in line for line in steps):
        reasons.append("a rate of type int needs another program than a rate of type float")
    yield judge(
        len(steps) == 1 and not reasons,
        "all steps share one compiled program",
        f"{where}: four steps compile {plural(len(steps), 'program')}, but one is enough: "
        + ("; ".join(reasons) or "their arguments differ"),
        steps,
    )
    yield judge(
        not second,
        "other rates compile nothing",
        f"{where}: JAX compiles again for other rates; is each value part of the key, or each list of types?",
        second,
    )
