"""Statements about memory: who may take it, what is planned, what a figure counts."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from bare import compiled, everywhere, same, shape, states

if TYPE_CHECKING:
    from collections.abc import Callable


@states("buffers, questions")
def donates_to_another_type() -> tuple[object, object]:
    """A donated array's memory is taken by a result of another element type."""
    return same((4096, 0)), everywhere(lambda target: donated(lambda x: x.astype(jnp.int32), target))


@states("buffers")
def donates_to_another_shape() -> tuple[object, object]:
    """A result of another shape takes a donated array's memory on CPU and H100; on the TPU not, without a warning."""
    observed = everywhere(lambda target: donated(lambda x: (x + 1).reshape(32, 32), target))
    return {"cpu": (4096, 0), "h100": (4096, 0), "tpu": (0, 0)}, observed


@states("buffers")
def takes_memory_beside_the_plan() -> tuple[object, object]:
    """A plan without temporary memory is not all that a running program takes: a library's product has its own."""

    def attention(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
        return jax.nn.softmax(q @ k.T) @ v

    executable = compiled(attention, *[shape(6144, 64)] * 3)
    arrays = [jnp.ones((6144, 64))] * 3
    # The most that the process has held counts from here, whatever it held before.
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = read_most_held()
    jax.block_until_ready(executable(*arrays))
    return (0, True), (executable.memory_analysis().temp_size_in_bytes, read_most_held() - before > 50 << 10)


def read_most_held() -> int:
    """Return the most memory that the process has held, in KiB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0])


@states("buffers, questions")
def leaves_temporaries_out() -> tuple[object, object]:
    """On the CPU the reported peak excludes temporaries, and includes a constant that the sum of the sizes excludes."""
    square = shape(512, 512)
    total, temporary, peak = measure(lambda x, w: jnp.tanh(x @ w) @ w @ w, square, square, target="cpu")
    constant = np.broadcast_to(np.arange(512, dtype=np.float32), (512, 512)).copy()
    without, _, with_constant = measure(lambda x: x @ constant + 1, square, target="cpu")
    return (1 << 20, 1 << 20, 1 << 20), (temporary, total - peak, with_constant - without)


@states("buffers, questions")
def sums_to_the_peak() -> tuple[object, object]:
    """On the H100 the reported peak is the sum of the sizes, plus constants."""
    square = shape(512, 512)
    total, _, peak = measure(lambda x, w: jnp.tanh(x @ w) @ w @ w, square, square, target="h100")
    constant = np.broadcast_to(np.arange(512, dtype=np.float32), (512, 512)).copy()
    without, _, with_constant = measure(lambda x: x @ constant + 1, square, target="h100")
    return (0, 1 << 20), (peak - total, with_constant - without)


def donated(function: Callable[..., Any], target: str) -> tuple[int, int]:
    """Return how many bytes of a donated vector of 1024 floats a result takes, and how often JAX warns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        memory = compiled(function, shape(1024), target=target, give=(0,)).memory_analysis()
    return memory.alias_size_in_bytes, len(caught)


def measure(function: Callable[..., Any], *example: object, target: str) -> tuple[int, int, int]:
    """Return argument + output - alias + temp, temp and peak_memory_in_bytes of a compiled function."""
    memory = compiled(function, *example, target=target).memory_analysis()
    total = memory.argument_size_in_bytes + memory.output_size_in_bytes - memory.alias_size_in_bytes
    return total + memory.temp_size_in_bytes, memory.temp_size_in_bytes, memory.peak_memory_in_bytes
