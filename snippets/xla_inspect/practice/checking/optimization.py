"""What the exercises on optimization are judged by."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from xla_inspect import capture
from xla_inspect.hlo.opcodes import categorise
from xla_inspect.practice.checking import measures
from xla_inspect.practice.checking.finding import Finding, WrongError, bad, good, judge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.hlo.module import Module
    from xla_inspect.hlo.record import Capture
    from xla_inspect.practice.checking.written import Written

EQUATIONS, PRIMITIVES = 6, 4
"""How roundabout the program that vanishes has to be at least."""


def _shape(*dimensions: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(dimensions, jnp.float32)


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
        "probabilities": capture(_probabilities, _shape(64, 128), _shape(128, 256)),
        "the best four": capture(_best, _shape(64)),
        "standard scores": capture(_standard, _shape(64, 128)),
    }


def check_categories(written: Written) -> Iterator[Finding]:
    """The same counts as our own, before and after."""
    count, where = written.function("count"), written.locate("count")
    for name, found in _capture_all().items():
        for stage, module in (("before", found.unoptimized_module), ("after", found.module)):
            given = count(module)
            if not isinstance(given, dict):
                raise WrongError(bad(f"{where}: it returns {measures.say_shape(given)}, and a dict is asked for"))
            wanted = Counter(categorise(each.opcode) for each in module.walk())
            wrong = [key for key in sorted({*given, *wanted}) if given.get(key, 0) != wanted[key]]
            told = ", ".join(f"{given.get(key, 0)} of category `{key}` and not {wanted[key]}" for key in wrong)
            yield judge(
                not wrong,
                f"{name}, {stage} optimization: {wanted.total()} instructions of {len(wanted)} categories",
                f"{where}: {name}, {stage} optimization: it counts {told}. These are of that category, and do not "
                "stand in `ENTRY`:",
                _elsewhere(module, wrong),
                "hlo",
            )
            if wrong:
                return


def _elsewhere(module: Module, categories: list[str]) -> list[str]:
    found = [each for each in module.walk() if categorise(each.opcode) in categories[:1]]
    outside = [each for each in found if each.computation != module.entry.name]
    return [f"%{each.computation}: {line}" for each, line in zip(outside, measures.lines(outside), strict=True)]


def check_find_pass(written: Written) -> Iterator[Finding]:
    """The same passes as our own search, also for opcodes that come and go."""
    find_pass, where = written.function("find_pass"), written.locate("find_pass")
    asked = {
        "probabilities": ("negate", "reshape", "exponential"),
        "the best four": ("topk", "sort", "broadcast"),
        "standard scores": ("compare", "sqrt", "cosine"),
        "running sums": ("call",),
    }
    for name, found in (_capture_all() | {"running sums": capture(_sums, _shape(8, 8))}).items():
        for opcode in asked[name]:
            stages = {"before": found.unoptimized_module} | {
                f"{n} {p.name}": p.module for n, p in enumerate(found.passes, 1)
            }
            counts = {stage: module.opcode_counts()[opcode] for stage, module in stages.items()}
            wanted, given = _find(counts), find_pass(found, opcode)
            yield judge(
                given == wanted,
                f"{name}: `{opcode}` " + (f"was taken out by `{wanted}`" if wanted else "is not taken out"),
                f"{where}: {name}: of `{opcode}` it says {given!r}, and {wanted!r} is right. Where its number changes:",
                _tell(counts),
            )


def _tell(counts: dict[str, int]) -> list[str]:
    """Return how often an opcode stood in the module as it came, and after each pass that changed that."""
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
    return stages[there[-1] + 1].partition(" ")[2]


def check_vanish(written: Written) -> Iterator[Finding]:
    """Many equations, and nothing launched but a copy of the parameter."""
    nothing, where = written.function("nothing"), written.locate("nothing")
    x = measures.random(64, 128)
    measures.expect_shapes(nothing, measures.shapes(x), jax.ShapeDtypeStruct((64, 128), np.float32), where)
    measures.expect_numbers(jax.jit(nothing)(x), x, where, tolerance=1e-6)
    yield good("it returns its argument")
    jaxpr = jax.make_jaxpr(nothing)(x)
    used = measures.used(jaxpr)
    listed = [measures.print_equation(each) for each in used]
    yield judge(
        len(used) >= EQUATIONS,
        f"the result depends on {len(used)} equations",
        f"{where}: the result depends on {len(used)} equations, and at least {EQUATIONS} are asked for",
        listed,
        "jaxpr",
    )
    names = {each.primitive.name for each in used}
    yield judge(
        len(names) >= PRIMITIVES,
        f"they are of {len(names)} primitives",
        f"{where}: these are of {len(names)} primitives, and at least {PRIMITIVES} are asked for",
        listed,
        "jaxpr",
    )
    found = capture(nothing, *measures.shapes(x))
    launched = [each.opcode for each in found.module.entry if each.opcode not in {"parameter", "bitcast"}]
    yield judge(
        launched in ([], ["copy"]),
        "nothing is left but a copy of the parameter",
        f"{where}: the compiler could not prove that this is nothing; what is left computes",
        [*measures.lines(measures.inside(found.module)), *measures.kernel_lines(found)],
        "hlo",
    )


def check_predict_kernels(written: Written) -> Iterator[Finding]:
    """The numbers that come out."""
    examples = getattr(written.module, "EXAMPLES", {})
    for name in ("joined", "network", "ordered"):
        answer = written.answer(name.upper(), int)
        launched = measures.kernel_lines(capture(written.function(name), *examples[name]))
        yield judge(
            answer == len(launched),
            f"`{name}` launches {len(launched)}",
            f"{written.locate(name.upper())}: not {answer}. `{name}` launches",
            launched,
            "hlo",
        )
