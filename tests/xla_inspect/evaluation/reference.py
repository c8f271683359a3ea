"""Programs with known results: by StableHLO's reference interpreter, or by a function of NumPy or JAX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax._src.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from xla_inspect.hlo import parse_module

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from xla_inspect.evaluation import Evaluator
    from xla_inspect.hlo import Module

type Value = Any
"""An array of NumPy or JAX, several of them, or an element type."""

type Arrays = Sequence[np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Case:
    """A program with its arguments.

    Attributes:
        name: The name of the case.
        program: A function of JAX arrays, or the body of a StableHLO module.
        arguments: The arguments, of types that NumPy has itself.
        ulps: The largest difference from the expected result, in representable numbers.
        expected: A function of NumPy arrays for what the interpreter cannot compute.
    """

    name: str
    program: Callable[..., Any] | str
    arguments: Arrays
    ulps: int = 0
    expected: Callable[..., Any] | None = None


def check(case: Case, evaluator: Evaluator) -> None:
    """Assert that the evaluator computes a case's known result."""
    text, module = lower(case)
    actual = run(evaluator, module, *case.arguments)
    if case.expected:
        expected = case.expected(*case.arguments)
        expected = [np.asarray(one) for one in (expected if isinstance(expected, tuple) else [expected])]
    else:
        expected = interpret(text, case.arguments)
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected, strict=True):
        assert_same(one, other, case.ulps)


def lower(case: Case) -> tuple[str, Module]:
    """Return a case's StableHLO, and the HLO module that no pass has changed yet."""
    with jax.enable_x64(True):  # noqa: FBT003 - JAX's own signature
        if not isinstance(case.program, str):
            lowered: Any = jax.jit(case.program).lower(*case.arguments)
            computation: Any = lowered.compiler_ir("hlo")
            return lowered.as_text(), parse_module(computation.as_hlo_text(print_large_constants=True))
    from jaxlib import _jax  # JAX has no public name for this conversion

    with make_ir_context():
        computation = _jax.mlir.mlir_module_to_xla_computation(case.program)
    return case.program, parse_module(computation.as_hlo_text())


def run(evaluator: Evaluator, module: Module, *arguments: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Run a module on one device, or on all if it has no arguments, and return the first one's results."""
    return [shards[0] for shards in evaluator.run(module, [[argument] for argument in arguments])]


def interpret(text: str, arguments: Arrays) -> list[np.ndarray[Any, Any]]:
    """Return the results of StableHLO's reference interpreter."""
    context = make_ir_context()
    stablehlo.register_interpreter_dialect(context)
    with context:
        attributes = [ir.DenseElementsAttr.get(np.array(argument, order="C")) for argument in arguments]
        return [np.array(result) for result in stablehlo.eval_module(ir.Module.parse(text), attributes)]


def assert_same(actual: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], ulps: int = 0) -> None:
    """Assert that two arrays have the same bits, any NaN for a NaN, or differ by a few representable numbers."""
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    if actual.dtype.kind == "f":
        np.testing.assert_array_equal(np.isnan(actual), np.isnan(expected))
        actual, expected = (np.where(np.isnan(array), array.dtype.type(0), array) for array in (actual, expected))
        if ulps:
            np.testing.assert_array_max_ulp(actual, expected, ulps)
            return
        np.testing.assert_array_equal(np.signbit(actual), np.signbit(expected))
    np.testing.assert_array_equal(actual, expected)
