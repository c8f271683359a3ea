"""A function run by StableHLO's reference interpreter, which compiles nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.passmanager import PassManager

from programs import gelu

if TYPE_CHECKING:
    from collections.abc import Callable


def without_chlo(function: Callable[..., Any], *example: jax.ShapeDtypeStruct) -> ir.Module:
    """Return a function's module with each operation of CHLO written out in StableHLO."""
    text = jax.jit(function).lower(*example).as_text()
    stablehlo.register_stablehlo_passes()
    with mlir.make_ir_context():
        # A copy: JAX keeps the module that `compiler_ir` returns, and would compile what a pass left of it.
        module = ir.Module.parse(text)
        PassManager.parse("builtin.module(func.func(chlo-legalize-to-stablehlo))").run(module.operation)
    return module


def interpreted(function: Callable[..., Any], *arguments: np.ndarray) -> np.ndarray:
    """Return a function's only result for NumPy arguments, which the interpreter evaluates operation by operation."""
    shapes = [jax.ShapeDtypeStruct(argument.shape, argument.dtype) for argument in arguments]
    module = without_chlo(function, *shapes)
    with module.context:
        [result] = stablehlo.eval_module(module, [ir.DenseElementsAttr.get(argument) for argument in arguments])
    return np.array(result)


if __name__ == "__main__":
    print(interpreted(gelu.gelu, np.linspace(-3, 3, 32, dtype=np.float32).reshape(4, 8)))
