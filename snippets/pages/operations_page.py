"""The programs and checks of the list of operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
from jax import lax, numpy

from programs import attention, control_flow, opcodes
from xla_inspect import capture_all
from xla_inspect.compilation import USUAL
from xla_inspect.hlo import CATEGORY, parse_module
from xla_inspect.report import markdown, title

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from types import ModuleType

    from chapters import OpcodeCatalog
    from xla_inspect import Capture, Captures

FOUR = {"cpu": "cpu:4", "h100": "h100:4", "tpu-v5e": "tpu-v5e:2x2"}
INVERSE = {"acos", "acosh", "asin", "asinh", "atanh", "cosh", "sinh"}
"""The inverse and hyperbolic functions that JAX lowers to one operation of CHLO each."""


def compile_family(family: ModuleType, mesh: Mapping[str, int] | None = None) -> Iterator[tuple[str, Capture]]:
    """Yield each program of a module with its name, compiled for each target.

    Args:
        family: A module with `PROGRAMS`, and with `ONLY` where a program is for some targets alone.
        mesh: The axes of a mesh of four devices.
    """
    for name, (function, example) in family.PROGRAMS.items():
        targets = [FOUR[target] if mesh else target for target in getattr(family, "ONLY", {}).get(name, USUAL)]
        for capture in capture_all(function, *example, targets=targets, mesh=mesh).values():
            yield name, capture


def check_replacement(one: Captures) -> None:
    """Check that each compiler removes, adds and keeps opcodes, and that the TPU alone has no dot."""
    one.require()
    ended = {target: set(capture.module.opcode_counts()) for target, capture in one.items()}
    before = set(one["cpu"].unoptimized_module.opcode_counts())
    assert [target for target, left in ended.items() if "dot" not in left] == ["tpu-v5e"]
    assert "convolution" in ended["tpu-v5e"]
    assert all(before - left and left - before and before & left for left in ended.values())
    assert len(set(map(frozenset, ended.values()))) == len(ended)


def show_counts(one: Captures) -> str:
    """Return a table of the opcodes before the passes and after them on each target, with their counts."""
    modules = [one["cpu"].unoptimized_module, *(capture.module for capture in one.values())]
    counts = [module.opcode_counts() for module in modules]
    names = [name for name in CATEGORY if any(name in count for count in counts)]
    rows = [(markdown.code(name), *(count[name] or "" for count in counts)) for name in names]
    return markdown.table(["opcode", "before", *map(title, one)], rows, numbers=range(1, len(counts) + 1))


def check_counts(one: Captures) -> None:
    """Check the opcodes of the layer on each target, and that the TPU fetches the weights into memory on its chip."""
    before = one["cpu"].unoptimized_module.opcode_counts()
    after = [one[target].module.opcode_counts() for target in USUAL]
    tpu = after[-1]
    assert [before[name] for name in ("dot", "add", "maximum")] == [1, 1, 1]
    assert ["dot" in counts for counts in after] == [True, True, False]
    assert [name in before for name in ("call", "convolution", "fusion", "copy-start", "bitcast")] == [True] + 4 * [
        False
    ]
    assert not any("call" in counts for counts in after)
    assert all("fusion" in counts for counts in after)
    assert any("bitcast" in counts for counts in after)
    assert {"convolution", "copy-start"} <= set(tpu)
    started = next(each for each in one["tpu-v5e"].module.entry if each.opcode == "copy-start")
    leaves = [leaf for leaf in started.shape.leaves() if leaf.dtype == "f32"]
    assert started.operands == ("w.1",)
    assert {leaf.layout.memory_space for leaf in leaves if leaf.layout} == {0, 1}


def show_sizes(sizes: Mapping[str, int], quoted: Mapping[str, int]) -> str:
    """Return a table of the number of opcodes by category, next to the figures of a claim.

    Args:
        sizes: The number of opcodes of each category.
        quoted: The figures of the claim, where it mentions a category.
    """
    rows = [
        *(
            (f"[{name}](#{name.replace(' ', '-')})", quoted.get(name, "not mentioned"), size)
            for name, size in sizes.items()
        ),
        ("all", sum(quoted.get(name, 0) for name in sizes), sum(sizes.values())),
    ]
    return markdown.table(["category", "as often rounded", "counted here"], rows, numbers=(1, 2))


def check_imported(shown: OpcodeCatalog) -> None:
    """Check the inverse and hyperbolic functions that each compiler gets, and that no two keep the same opcodes."""
    gets = [INVERSE & shown.kept(target, "before") for target in USUAL]
    assert gets == [set(), INVERSE, {"acos", "cosh", "sinh"}]
    function, example = opcodes.PROGRAMS["transcendental"]
    for platform in ("cpu", "cuda", "tpu"):
        lowered = jax.jit(function).trace(*example).lower(lowering_platforms=(platform,))
        assert "chlo.acos" in lowered.as_text()
        assert INVERSE & set(parse_module(lowered.as_text("hlo")).opcode_counts()) == set()
    kept = [shown.kept(target) for target in USUAL]
    assert all(mine != others for place, mine in enumerate(kept) for others in kept[:place])


def check_replaced(shown: OpcodeCatalog, by_jax: Iterable[tuple[str, Capture]]) -> None:
    """Check the opcodes that are expanded, those that are a call from the start, and bitcasts."""
    expanded = [("batch-norm-training", target) for target in USUAL]
    expanded += [(opcode, target) for opcode in ("logistic", "rng-bit-generator") for target in ("cpu", "h100")]
    assert all("expander" in shown.removed_by(opcode, target) for opcode, target in expanded)
    assert "rng-bit-generator" in shown.kept("tpu-v5e")
    assert "after" in shown.sightings("logistic")["tpu-v5e"]
    assert ["cholesky" in shown.kept(target, "before") for target in ("h100", "tpu-v5e")] == [False, True]
    assert "expander" in shown.removed_by("cholesky", "tpu-v5e")
    solvers = [capture for name, capture in by_jax if name == "solvers" and capture.target == "h100"]
    calls = [call.custom_call_target or "" for capture in solvers for call in capture.unoptimized_module.walk()]
    assert any("cusolver" in target for target in calls)
    assert all("bitcast" in shown.kept(target) - shown.kept(target, "before") for target in USUAL)


def check_odd_operands() -> None:
    """Check on the CPU the results for NaN, halves, signs and zeros, and the states of loops and fusions of modules."""
    nan, number, half = numpy.float32("nan"), numpy.float32(1), numpy.float32(2.5)
    assert (int(lax.div(-7, 2)), int(lax.rem(-7, 2))) == (-3, -1)
    assert all(numpy.isnan(each) for each in (lax.max(nan, number), lax.min(number, nan), lax.sign(nan)))
    assert numpy.signbit(lax.sign(-0.0))
    assert [float(lax.round(each, lax.RoundingMethod.AWAY_FROM_ZERO)) for each in (half, -half)] == [3, -3]
    assert float(numpy.round(half)) == 2
    assert (int(lax.clz(1)), int(lax.population_count(7)), float(lax.cbrt(-8.0))) == (31, 3, -2)
    shifted = [int(shift(-8, 1)) for shift in (lax.shift_right_arithmetic, lax.shift_right_logical)]
    assert shifted == [-4, 2**31 - 4]
    assert float(lax.expm1(1e-8)) == float(lax.log1p(1e-8)) == float(numpy.float32(1e-8))
    states = set[bool]()
    for loop in ("while_loop", "scan"):
        function, example = control_flow.PROGRAMS[loop]
        module = capture_all(function, *example, targets=["cpu"])["cpu"].module
        states |= {each.shape.is_tuple for each in module.walk() if each.opcode == "while"}
    assert states == {True, False}
    nested: Any = capture_all(attention.attention, *attention.EXAMPLE)["tpu-v5e"].module
    assert nested.opcode_counts()["fusion"] > nested.opcode_counts(entry_only=True)["fusion"]
