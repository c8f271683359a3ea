"""XLA's programs on the CPU, as `jax.jit` compiles them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from peers import given
from programs import classify, gelu, layer, mlp_block

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAMS: dict[str, Callable[..., jax.Array]] = {
    "layer": layer.layer,
    "gelu": gelu.gelu,
    "classify": classify.classify,
    "mlp_block": mlp_block.mlp_block,
}


def build(program: str) -> Callable[[], Any]:
    """Return a function that runs a program."""
    arguments = [jax.device_put(array) for array in given.inputs(program).values()]
    executable = jax.jit(PROGRAMS[program]).lower(*arguments).compile()
    # On the CPU, NumPy shares the memory of JAX's array, so this call only waits for the result.
    return lambda: np.asarray(executable(*arguments))


WAYS = {"XLA": build}
