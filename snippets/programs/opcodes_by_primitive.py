"""Programs with opcodes that no function of JAX produces: custom primitives of this file emit their StableHLO."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import mlir
from jaxlib.mlir.dialects import stablehlo

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

type Value = Any
"""A value of MLIR, or what JAX knows of one while it traces; neither has a public type."""

EPSILON, CHANNELS = 1e-5, 1


def primitive(shape: Callable[..., Sequence[Value]], emit: Callable[..., Sequence[Value]]) -> Primitive:
    """Return a JAX primitive that a given function lowers to StableHLO, with a list of results.

    Args:
        shape: Takes what is known of the operands, and returns what is known of the results.
        emit: Takes the results' types and the operands, and returns the results, made by operations of StableHLO.
    """
    made = Primitive(f"emit_{emit.__name__}")
    made.multiple_results = True

    def lower(context: mlir.LoweringRuleContext, *operands: Value) -> Sequence[Value]:
        types = [mlir.aval_to_ir_type(context.module_context, known) for known in context.avals_out]
        return emit(types, *operands)

    made.def_abstract_eval(lambda *known: list(shape(*known)))
    mlir.register_lowering(made, lower)
    return made


def _training(_: Value, x: Value, scale: Value, offset: Value) -> Sequence[Value]:
    return list(stablehlo.batch_norm_training(x, scale, offset, EPSILON, CHANNELS))


def _inference(_: Value, x: Value, scale: Value, offset: Value, mean: Value, variance: Value) -> Sequence[Value]:
    return [stablehlo.batch_norm_inference(x, scale, offset, mean, variance, EPSILON, CHANNELS)]


def _gradient(_: Value, x: Value, scale: Value, mean: Value, variance: Value, output: Value) -> Sequence[Value]:
    return list(stablehlo.batch_norm_grad(x, scale, mean, variance, output, EPSILON, CHANNELS))


def _logistic(_: Value, x: Value) -> Sequence[Value]:
    return [stablehlo.logistic(x)]


def _infeed(types: Sequence[Value], _: Value) -> Sequence[Value]:
    read = stablehlo.infeed([*types, stablehlo.TokenType.get()], stablehlo.create_token(), infeed_config="")
    return [read[0]]


def _outfeed(_: Value, x: Value) -> Sequence[Value]:
    stablehlo.outfeed([x], stablehlo.create_token(), outfeed_config="")
    return [x]


def _sizes(_: Value, x: Value, size: Value) -> Sequence[Value]:
    return [stablehlo.get_dimension_size(stablehlo.set_dimension_size(x, size, 0), 0)]


def _copy_number(types: Sequence[Value], _: Value) -> Sequence[Value]:
    return [stablehlo.convert(types[0], stablehlo.replica_id())]


batch_norm_training = primitive(lambda x, scale, offset: (x, scale, offset), _training)
batch_norm_inference = primitive(lambda x, *_: (x,), _inference)
batch_norm_grad = primitive(lambda x, scale, *_: (x, scale, scale), _gradient)
logistic = primitive(lambda x: (x,), _logistic)
infeed = primitive(lambda x: (x,), _infeed)
outfeed = primitive(lambda x: (x,), _outfeed)
dimension_sizes = primitive(lambda _, size: (size,), _sizes)
copy_number = primitive(lambda size: (size,), _copy_number)


def normalised(x: jax.Array, scale: jax.Array) -> tuple[Any, ...]:
    """Return the results of the three operations of batch norm: for training, for inference, and for gradients."""
    return (
        *batch_norm_training.bind(x, scale, scale),
        *batch_norm_inference.bind(x, scale, scale, scale, scale),
        *batch_norm_grad.bind(x, scale, scale, scale, x),
    )


def others(x: jax.Array, size: jax.Array) -> tuple[Any, ...]:
    """Return the logistic function, an infeed, an outfeed, a size that is set at run time, and the replica number."""
    queues = (*infeed.bind(x), *outfeed.bind(x))
    return (*logistic.bind(x), *queues, *dimension_sizes.bind(x, size), *copy_number.bind(size))


X, ROW = jax.ShapeDtypeStruct((8, 128), jnp.float32), jax.ShapeDtypeStruct((128,), jnp.float32)

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "normalised": (normalised, (X, ROW)),
    "others": (others, (X, jax.ShapeDtypeStruct((), jnp.int32))),
}

if __name__ == "__main__":
    for name, (function, example) in PROGRAMS.items():
        print(f"{name}: {[str(equation.primitive) for equation in jax.make_jaxpr(function)(*example).eqns]}")
