"""A kernel of one's own between two operations of JAX, the same as plain JAX, and two calls out of a program."""

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
    """Write the GELU of one block, all of whose rows are in fast memory."""
    o_ref[...] = jax.nn.gelu(x_ref[...])


def fused(x: jax.Array) -> jax.Array:
    """Return sin(gelu(2 x)) + 1 of x, f32[1024,512]."""
    return jnp.sin(jax.nn.gelu(x * 2)) + 1


def call_kernel(x: jax.Array, **options: Any) -> jax.Array:  # noqa: ANN401 - as pallas_call has them
    """Return the GELU of x by the kernel, over blocks of 128 rows."""
    block = pl.BlockSpec((ROWS, x.shape[1]), lambda row: (row, 0))
    called: jax.Array = pl.pallas_call(
        gelu_kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(x.shape[0] // ROWS,),
        in_specs=[block],
        out_specs=block,
        **options,
    )(x)
    return called


def between(x: jax.Array) -> jax.Array:
    """Return the same, the GELU as a Pallas kernel."""
    return jnp.sin(call_kernel(x * 2)) + 1


def opened(x: jax.Array) -> jax.Array:
    """Return the same, the kernel with the right to take in what computes its operand, on a TPU."""
    taking_in = pltpu.CompilerParams(allow_input_fusion=[True])
    return jnp.sin(call_kernel(x * 2, compiler_params=taking_in)) + 1


def costed(x: jax.Array) -> jax.Array:
    """Return the same, the kernel with an estimate of its work, which XLA cannot count."""
    work = pl.CostEstimate(flops=10 * x.size, bytes_accessed=2 * x.nbytes, transcendentals=x.size)
    return jnp.sin(call_kernel(x * 2, cost_estimate=work)) + 1


def foreign(x: jax.Array) -> jax.Array:
    """Return the same, the GELU as a function of a library that is found by its name when the program runs."""
    call = jax.ffi.ffi_call("my_gelu", jax.ShapeDtypeStruct(x.shape, x.dtype))
    return jnp.sin(call(x * 2, approximate=np.int32(1))) + 1


def called_back(x: jax.Array) -> jax.Array:
    """Return the same, the GELU by NumPy in this process."""

    def compute(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.asarray(jax.nn.gelu(values))

    return jnp.sin(jax.pure_callback(compute, jax.ShapeDtypeStruct(x.shape, x.dtype), x * 2)) + 1


X = jax.ShapeDtypeStruct((1024, 512), jnp.float32)


def compile_all(device: jax.Device, functions: tuple[Callable[[jax.Array], jax.Array], ...]) -> dict[str, Any]:
    """Return of each function its optimized HLO and the flops that XLA counts, by its name, or why it fails.

    Args:
        device: What to compile for, which need not be here.
        functions: Those of this file.
    """
    from xla_inspect.compilation import held_settings

    made: dict[str, Any] = {}
    # A kernel's payload holds the paths of its files, and so would be as long as the folder's name.
    with held_settings(Path(__file__).parents[2]), jax.default_device(device):
        for function in functions:
            lowered = jax.jit(function).lower(X)
            made[function.__name__] = {"stablehlo": lowered.as_text()}
            try:
                compiled = lowered.compile()
            except jax.errors.JaxRuntimeError as error:
                made[function.__name__]["error"] = str(error).splitlines()[0]
                continue
            cost = compiled.cost_analysis() or {}
            made[function.__name__].update(hlo=strip_tables(compiled.as_text() or ""), flops=cost.get("flops"))
    return made


def own_kernel() -> dict[str, Any]:
    """Return by target what `compile_all` does; calls out of the program for the CPU alone, kernels for the others."""
    from xla_inspect import targets

    asked = {
        "cpu": (fused, foreign, called_back),
        "h100": (fused, between),
        "tpu-v5e": (fused, between, costed, opened),
    }
    return {name: compile_all(targets.find_target(name).devices()[0], functions) for name, functions in asked.items()}


if __name__ == "__main__":
    print(call_kernel(jnp.ones((ROWS, 8)), interpret=True))
