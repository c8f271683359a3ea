"""A custom kernel between two operations of JAX, the same in plain JAX, and two calls to code outside of XLA."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from programs.own_pass import strip_tables

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 128


def gelu_kernel(x_ref: Any, o_ref: Any) -> None:  # noqa: ANN401 - references have no public type
    """Write the GELU of one block, whose rows are all in fast memory."""
    o_ref[...] = jax.nn.gelu(x_ref[...])


def fused(x: jax.Array) -> jax.Array:
    """Return sin(gelu(2 x)) + 1, f32[1024,512]."""
    return jnp.sin(jax.nn.gelu(x * 2)) + 1


def call_kernel(x: jax.Array, **options: Any) -> jax.Array:  # noqa: ANN401 - as pallas_call has them
    """Return the GELU of x, which the kernel computes for blocks of 128 rows."""
    block = pl.BlockSpec((ROWS, x.shape[1]), lambda row: (row, 0))
    result: jax.Array = pl.pallas_call(
        gelu_kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(x.shape[0] // ROWS,),
        in_specs=[block],
        out_specs=block,
        **options,
    )(x)
    return result


def between(x: jax.Array) -> jax.Array:
    """Return the same as `fused`, with the GELU as a Pallas kernel."""
    return jnp.sin(call_kernel(x * 2)) + 1


def opened(x: jax.Array) -> jax.Array:
    """Return the same as `between`, with a kernel into which a TPU may fuse the operation before it."""
    parameters = pltpu.CompilerParams(allow_input_fusion=[True])
    return jnp.sin(call_kernel(x * 2, compiler_params=parameters)) + 1


def costed(x: jax.Array) -> jax.Array:
    """Return the same as `between`, with an estimate of the kernel's work, which XLA cannot count."""
    work = pl.CostEstimate(flops=10 * x.size, bytes_accessed=2 * x.nbytes, transcendentals=x.size)
    return jnp.sin(call_kernel(x * 2, cost_estimate=work)) + 1


def foreign(x: jax.Array) -> jax.Array:
    """Return the same as `fused`, with the GELU as a library function that is looked up by its name."""
    call = jax.ffi.ffi_call("my_gelu", jax.ShapeDtypeStruct(x.shape, x.dtype))
    return jnp.sin(call(x * 2, approximate=np.int32(1))) + 1


def called_back(x: jax.Array) -> jax.Array:
    """Return the same as `fused`, with the GELU as a Python function in this process."""

    def compute(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.asarray(jax.nn.gelu(values))

    return jnp.sin(jax.pure_callback(compute, jax.ShapeDtypeStruct(x.shape, x.dtype), x * 2)) + 1


X = jax.ShapeDtypeStruct((1024, 512), jnp.float32)


def compile_all(device: jax.Device, functions: tuple[Callable[[jax.Array], jax.Array], ...]) -> dict[str, Any]:
    """Return the StableHLO, and the optimized HLO with the flops that XLA counts or the error, by function name.

    Args:
        device: The device to compile for, which may be absent.
        functions: Functions of this file.
    """
    from xla_inspect.compilation import held_settings

    programs: dict[str, Any] = {}
    # A kernel's payload holds the paths of its files, and so would be as long as the folder's name.
    with held_settings(Path(__file__).parents[2]), jax.default_device(device):
        for function in functions:
            lowered = jax.jit(function).lower(X)
            programs[function.__name__] = {"stablehlo": lowered.as_text()}
            try:
                compiled = lowered.compile()
            except jax.errors.JaxRuntimeError as error:
                programs[function.__name__]["error"] = str(error).splitlines()[0]
                continue
            cost = compiled.cost_analysis() or {}
            programs[function.__name__].update(hlo=strip_tables(compiled.as_text() or ""), flops=cost.get("flops"))
    return programs


def own_kernel() -> dict[str, Any]:
    """Return the result of `compile_all` for each target: the outside calls on the CPU, the kernels elsewhere."""
    from xla_inspect import targets

    functions_by_target = {
        "cpu": (fused, foreign, called_back),
        "h100": (fused, between),
        "tpu-v5e": (fused, between, costed, opened),
    }
    return {
        name: compile_all(targets.find_target(name).devices()[0], functions)
        for name, functions in functions_by_target.items()
    }


if __name__ == "__main__":
    print(call_kernel(jnp.ones((ROWS, 8)), interpret=True))
