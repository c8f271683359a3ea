"""Counts in printed programs, compared with the counts of JAX and MLIR."""

from __future__ import annotations

import jax
import pytest
from jax.extend import core
from jaxlib.mlir import ir

from chapters import capture_text
from programs import layer, softmax, transformer_block, transformer_block_grad

PROGRAMS = [
    (layer.layer, layer.EXAMPLE),
    (softmax.softmax, softmax.EXAMPLE),
    (transformer_block.transformer_block, transformer_block.EXAMPLE),
    (transformer_block_grad.transformer_block_grad, transformer_block_grad.EXAMPLE),
]


def count_equations(jaxpr: core.Jaxpr, equations: set[int]) -> int:
    """Return the number of equations of a jaxpr and its inner jaxprs; one that is used twice counts once."""
    inner = [value for equation in jaxpr.eqns for value in equation.params.values()]
    jaxprs = [value.jaxpr if isinstance(value, core.ClosedJaxpr) else value for value in inner]
    count = len(jaxpr.eqns)
    for value in jaxprs:
        if isinstance(value, core.Jaxpr) and id(value) not in equations:
            equations.add(id(value))
            count += count_equations(value, equations)
    return count


@pytest.mark.parametrize(("function", "example"), PROGRAMS)
def test_equations_are_counted_as_jax_holds_them(function: object, example: tuple[object, ...]) -> None:
    jaxpr = jax.make_jaxpr(function)(*example)
    assert capture_text.count_printed_equations(str(jaxpr)) == count_equations(jaxpr.jaxpr, set())


@pytest.mark.parametrize(("function", "example"), PROGRAMS)
def test_operations_are_counted_as_mlir_holds_them(function: object, example: tuple[object, ...]) -> None:
    lowered = jax.jit(function).lower(*example)
    names: list[str] = []

    def note(operation: ir.Operation) -> ir.WalkResult:
        names.append(operation.name)
        return ir.WalkResult.ADVANCE

    lowered.compiler_ir("stablehlo").operation.walk(note)
    structure = {"builtin.module", "func.func", "func.return", "stablehlo.return"}
    assert capture_text.count_printed_operations(lowered.as_text()) == sum(name not in structure for name in names)
