"""Compilations, tables and checks of the page about HLO operations."""

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
"""The opcodes of the inverse and hyperbolic functions that JAX lowers to one operation of CHLO each."""


def compile_family(family: ModuleType, mesh: Mapping[str, int] | None = None) -> Iterator[tuple[str, Capture]]:
    """Compile each program of a module for its targets; yield the program's name with each capture.

    Args:
        family: A module with `PROGRAMS`, and with `ONLY` if a program is limited to some targets.
        mesh: The axes of a mesh of four devices; None compiles for one device.
    """
    for name, (function, example) in family.PROGRAMS.items():
        targets = [FOUR[target] if mesh else target for target in getattr(family, "ONLY", {}).get(name, USUAL)]
        for capture in capture_all(function, *example, targets=targets, mesh=mesh).values():
            yield name, capture


def check_replacement(one: Captures) -> None:
    """Assert that each compiler removes, adds and keeps opcodes, and that only the TPU has no dot."""
    one.require()
    opcodes_after = {target: set(capture.module.opcode_counts()) for target, capture in one.items()}
    before = set(one["cpu"].unoptimized_module.opcode_counts())
    assert [target for target, after in opcodes_after.items() if "dot" not in after] == ["tpu-v5e"]
    assert "convolution" in opcodes_after["tpu-v5e"]
    assert all(before - after and after - before and before & after for after in opcodes_after.values())
    assert len(set(map(frozenset, opcodes_after.values()))) == len(opcodes_after)


def show_counts(one: Captures) -> str:
    """Return a Markdown table of the number of instructions by opcode, before the passes and after them by target."""
    modules = [one["cpu"].unoptimized_module, *(capture.module for capture in one.values())]
    counts = [module.opcode_counts() for module in modules]
    names = [name for name in CATEGORY if any(name in count for count in counts)]
    rows = [(markdown.code(name), *(count[name] or "" for count in counts)) for name in names]
    return markdown.table(["Opcode", "Input", *map(title, one)], rows, numbers=range(1, len(counts) + 1))


def check_counts(one: Captures) -> None:
    """Assert the opcodes of the layer on each target, and that the TPU copies the weights into on-chip memory."""
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
    fetch = next(instruction for instruction in one["tpu-v5e"].module.entry if instruction.opcode == "copy-start")
    leaves = [leaf for leaf in fetch.shape.leaves() if leaf.dtype == "f32"]
    assert fetch.operands == ("w.1",)
    assert {leaf.layout.memory_space for leaf in leaves if leaf.layout} == {0, 1}


def show_sizes(sizes: Mapping[str, int], quoted: Mapping[str, int]) -> str:
    """Return a Markdown table of the number of opcodes by category, next to the figures in a claim."""
    rows = [
        *(
            (f"[{name}](#{name.replace(' ', '-')})", quoted.get(name, "not mentioned"), size)
            for name, size in sizes.items()
        ),
        ("All", sum(quoted.get(name, 0) for name in sizes), sum(sizes.values())),
    ]
    return markdown.table(["Category", "Claimed", "Counted"], rows, numbers=(1, 2))


def check_imported(catalog: OpcodeCatalog) -> None:
    """Assert the inverse and hyperbolic functions in each compiler's input, and that no two outputs are alike."""
    gets = [INVERSE & catalog.opcodes_at(target, "before") for target in USUAL]
    assert gets == [set(), INVERSE, {"acos", "cosh", "sinh"}]
    function, example = opcodes.PROGRAMS["transcendental"]
    for platform in ("cpu", "cuda", "tpu"):
        lowered = jax.jit(function).trace(*example).lower(lowering_platforms=(platform,))
        assert "chlo.acos" in lowered.as_text()
        # This conversion expands every CHLO operation, unlike the import of some compilers.
        assert INVERSE & set(parse_module(lowered.as_text("hlo")).opcode_counts()) == set()
    outputs = [catalog.opcodes_at(target) for target in USUAL]
    assert all(mine != others for place, mine in enumerate(outputs) for others in outputs[:place])


def check_replaced(catalog: OpcodeCatalog, by_jax: Iterable[tuple[str, Capture]]) -> None:
    """Assert which opcodes in the catalog passes expand or create, and the cuSOLVER calls in the H100's input."""
    expansions = [("batch-norm-training", target) for target in USUAL]
    expansions += [(opcode, target) for opcode in ("logistic", "rng-bit-generator") for target in ("cpu", "h100")]
    assert all("expander" in catalog.removed_by(opcode, target) for opcode, target in expansions)
    assert "rng-bit-generator" in catalog.opcodes_at("tpu-v5e")
    assert "after" in catalog.sightings("logistic")["tpu-v5e"]
    assert ["cholesky" in catalog.opcodes_at(target, "before") for target in ("h100", "tpu-v5e")] == [False, True]
    assert "expander" in catalog.removed_by("cholesky", "tpu-v5e")
    solvers = [capture for name, capture in by_jax if name == "solvers" and capture.target == "h100"]
    calls = [call.custom_call_target or "" for capture in solvers for call in capture.unoptimized_module.walk()]
    assert any("cusolver" in target for target in calls)
    assert all("bitcast" in catalog.opcodes_at(target) - catalog.opcodes_at(target, "before") for target in USUAL)


def check_odd_operands() -> None:
    """Assert the CPU's results for NaN, halves, signs and zeros, the states of loops, and the TPU's nested fusions."""
    nan, one, half = numpy.float32("nan"), numpy.float32(1), numpy.float32(2.5)
    assert (int(lax.div(-7, 2)), int(lax.rem(-7, 2))) == (-3, -1)
    assert all(numpy.isnan(result) for result in (lax.max(nan, one), lax.min(one, nan), lax.sign(nan)))
    assert numpy.signbit(lax.sign(-0.0))
    assert [float(lax.round(number, lax.RoundingMethod.AWAY_FROM_ZERO)) for number in (half, -half)] == [3, -3]
    assert float(numpy.round(half)) == 2
    assert (int(lax.clz(1)), int(lax.population_count(7)), float(lax.cbrt(-8.0))) == (31, 3, -2)
    shifted = [int(shift(-8, 1)) for shift in (lax.shift_right_arithmetic, lax.shift_right_logical)]
    assert shifted == [-4, 2**31 - 4]
    assert float(lax.expm1(1e-8)) == float(lax.log1p(1e-8)) == float(numpy.float32(1e-8))
    states = set[bool]()
    for name in ("while_loop", "scan"):
        function, example = control_flow.PROGRAMS[name]
        module = capture_all(function, *example, targets=["cpu"])["cpu"].module
        states |= {loop.shape.is_tuple for loop in module.walk() if loop.opcode == "while"}
    # A state of one value needs no tuple, so both forms must occur.
    assert states == {True, False}
    nested: Any = capture_all(attention.attention, *attention.EXAMPLE)["tpu-v5e"].module
    assert nested.opcode_counts()["fusion"] > nested.opcode_counts(entry_only=True)["fusion"]
