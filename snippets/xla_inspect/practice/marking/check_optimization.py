"""Checks of the exercises on optimization."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from xla_inspect.compilation import capture
from xla_inspect.hlo import categorise
from xla_inspect.practice.marking import check_helpers
from xla_inspect.practice.marking.verdict import Remark, WrongError, bad, good, judge
from xla_inspect.practice.models import shape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Module
    from xla_inspect.practice.marking.submission import Submission

EQUATIONS, PRIMITIVES = 6, 4
"""The minimum number of equations and primitives of the program that is optimized away."""


def _probabilities(x: jax.Array, w: jax.Array) -> jax.Array:
    scores = jnp.negative(jnp.negative((x * 1.0) @ w))
    shifted = scores - jnp.max(scores, axis=-1, keepdims=True)
    return jnp.exp(shifted) / jnp.sum(jnp.exp(shifted), axis=-1, keepdims=True)


def _best(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jax.lax.top_k(x, 4)


def _standard(x: jax.Array) -> jax.Array:
    return (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)


def _sums(x: jax.Array) -> jax.Array:
    return jax.lax.scan(lambda total, row: (total + row, total * row), x[0], x)[1]


def _capture_all() -> dict[str, Capture]:
    return {
        "probabilities": capture(_probabilities, shape(64, 128), shape(128, 256)),
        "the best four": capture(_best, shape(64)),
        "standard scores": capture(_standard, shape(64, 128)),
    }


def check_categories(submission: Submission) -> Iterator[Remark]:
    """Yield remarks on `count`, compared with the project's own counts of categories before and after optimization."""
    count, where = submission.function("count"), submission.locate("count")
    for name, compilation in _capture_all().items():
        for stage, module in (("before", compilation.unoptimized_module), ("after", compilation.module)):
            counts = count(module)
            if not isinstance(counts, dict):
                raise WrongError(bad(f"{where}: it returns {check_helpers.say_shape(counts)} instead of a dict"))
            expected = Counter(categorise(instruction.opcode) for instruction in module.walk())
            wrong = [key for key in sorted({*counts, *expected}) if counts.get(key, 0) != expected[key]]
            differences = ", ".join(
                f"{counts.get(key, 0)} of category `{key}` instead of {expected[key]}" for key in wrong
            )
            yield judge(
                not wrong,
                f"{name}, {stage} optimization: {expected.total()} instructions of {len(expected)} categories",
                f"{where}: {name}, {stage} optimization: it counts {differences}. These are of that category, and do "
                "not stand in `ENTRY`:",
                _elsewhere(module, wrong),
                "hlo",
            )
            if wrong:
                return


def _elsewhere(module: Module, categories: list[str]) -> list[str]:
    instructions = [instruction for instruction in module.walk() if categorise(instruction.opcode) in categories[:1]]
    outside = [instruction for instruction in instructions if instruction.computation != module.entry.name]
    return check_helpers.place_lines(outside)


def check_find_pass(submission: Submission) -> Iterator[Remark]:
    """Yield remarks on `find_pass`, compared with the project's own search for the pass that removed an opcode."""
    find_pass, where = submission.function("find_pass"), submission.locate("find_pass")
    opcodes = {
        "probabilities": ("negate", "reshape", "exponential"),
        "the best four": ("topk", "sort", "broadcast"),
        "standard scores": ("compare", "sqrt", "cosine"),
        "running sums": ("call",),
    }
    for name, compilation in (_capture_all() | {"running sums": capture(_sums, shape(8, 8))}).items():
        for opcode in opcodes[name]:
            stages = {"before": compilation.unoptimized_module} | {
                f"{n} {p.name}": p.module for n, p in enumerate(compilation.passes, 1)
            }
            counts = {stage: module.opcode_counts()[opcode] for stage, module in stages.items()}
            expected, answer = _find(counts), find_pass(compilation, opcode)
            yield judge(
                answer == expected,
                f"{name}: `{opcode}` " + (f"was removed by `{expected}`" if expected else "was not removed"),
                f"{where}: {name}: for `{opcode}`, it returns {answer!r} instead of {expected!r}. "
                "The number of these instructions changes here:",
                _tell(counts),
            )


def _tell(counts: dict[str, int]) -> list[str]:
    """Return lines with the number of instructions before the passes, and after each pass that changed it."""
    pairs = zip([None, *counts.values()], counts.items(), strict=False)
    return [
        f"{count:>3} {stage if stage == 'before' else f'after pass {stage}'}"
        for former, (stage, count) in pairs
        if count != former
    ]


def _find(counts: dict[str, int]) -> str | None:
    stages = list(counts)
    there = [at for at, stage in enumerate(stages) if counts[stage]]
    if not there or there[-1] == len(stages) - 1:
        return None
    # The stages are numbered because a pass may run several times; the answer is only the name of the pass.
    return stages[there[-1] + 1].partition(" ")[2]


def check_vanish(submission: Submission) -> Iterator[Remark]:
    """Yield remarks on `nothing`: its argument as the result, from many equations that compile to at most a copy."""
    nothing, where = submission.function("nothing"), submission.locate("nothing")
    x, other = check_helpers.random(64, 128), check_helpers.random(64, 128, seed=1)
    # A second argument excludes a function that returns a constant.
    for argument in (x, other):
        check_helpers.expect(nothing, (argument,), argument, where, tolerance=1e-6)
    yield good("it returns its argument, whatever that is")
    jaxpr = jax.make_jaxpr(nothing)(x)
    equations = check_helpers.used(jaxpr)
    listed = [check_helpers.print_equation(equation) for equation in equations]
    yield judge(
        len(equations) >= EQUATIONS,
        f"the result depends on {len(equations)} equations",
        f"{where}: the result depends on {len(equations)} equations, and at least {EQUATIONS} are asked for",
        listed,
        "jaxpr",
    )
    names = {equation.primitive.name for equation in equations}
    yield judge(
        len(names) >= PRIMITIVES,
        f"they are of {len(names)} primitives",
        f"{where}: these are of {len(names)} primitives, and at least {PRIMITIVES} are asked for",
        listed,
        "jaxpr",
    )
    compilation = capture(nothing, *check_helpers.shapes(x))
    launched = [
        remaining.opcode for remaining in compilation.module.entry if remaining.opcode not in {"parameter", "bitcast"}
    ]
    yield judge(
        # A result needs memory of its own unless the argument is donated, so a copy may remain.
        launched in ([], ["copy"]),
        "nothing is left but a copy of the parameter",
        f"{where}: the compiler could not prove that this is nothing; what is left computes",
        [*check_helpers.lines(check_helpers.inside(compilation.module)), *check_helpers.kernel_lines(compilation)],
        "hlo",
    )


def check_predict_kernels(submission: Submission) -> Iterator[Remark]:
    """Yield remarks on the reader's predicted numbers of kernels, compared with those of the compiled programs."""
    for name, example in submission.given.EXAMPLES.items():
        launched = check_helpers.kernel_lines(capture(getattr(submission.given, name), *example))
        explanation = f"`{name}` launches these.{submission.say_changed(name)}"
        yield submission.judge(name.upper(), len(launched), f"`{name}` launches {len(launched)}", explanation, launched)
