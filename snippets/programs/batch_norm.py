"""Batch normalization for inference as one StableHLO operation, which a custom primitive of this file emits."""

from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import mlir
from jaxlib.mlir.dialects import stablehlo

EPSILON, CHANNELS = 1e-5, 1  # the dimension that holds the channels


def _shape(x: Any, *_: Any) -> Any:  # noqa: ANN401 - what JAX knows of a value while it traces
    return x


def _lower(_: mlir.LoweringRuleContext, *operands: Any) -> list[Any]:  # noqa: ANN401 - values of MLIR, untyped
    x, scale, offset, mean, variance = operands
    return [stablehlo.batch_norm_inference(x, scale, offset, mean, variance, EPSILON, CHANNELS)]


batch_norm_inference = Primitive("batch_norm_inference")
batch_norm_inference.def_abstract_eval(_shape)
mlir.register_lowering(batch_norm_inference, _lower)


def batch_norm(x: jax.Array, scale: jax.Array, offset: jax.Array, mean: jax.Array, variance: jax.Array) -> jax.Array:
    """Return scale * (x - mean) / sqrt(variance + 1e-5) + offset, f32[8,16]; all arguments but x are f32[16]."""
    normed: jax.Array = batch_norm_inference.bind(x, scale, offset, mean, variance)
    return normed


EXAMPLE = (jax.ShapeDtypeStruct((8, 16), jnp.float32), *(jax.ShapeDtypeStruct((16,), jnp.float32),) * 4)

if __name__ == "__main__":
    print(jax.make_jaxpr(batch_norm)(*EXAMPLE))
