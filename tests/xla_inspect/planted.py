"""Common mistakes, each with the correct program, an assertion about it, and the wrong program.

Each pair is called with the same arguments; what is asserted holds of the first and not of the second.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec as P

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect.budgets import CompiledProgram

S = jax.ShapeDtypeStruct
ROWS = S((256, 128), jnp.float32)


@dataclass(frozen=True)
class Mistake:
    """A common mistake.

    Attributes:
        name: A short description of the mistake.
        before: The correct program.
        after: The program with the mistake.
        args: The arguments of both programs.
        holds: The assertion that the correct program fulfills.
        says: A text that the failure must contain.
        call: The options of both calls.
        call_after: Further options of the second call.
    """

    name: str
    before: Callable[..., Any]
    after: Callable[..., Any]
    args: tuple[Any, ...]
    holds: Callable[[CompiledProgram], object]
    says: str
    call: dict[str, Any] = field(default_factory=dict)
    call_after: dict[str, Any] = field(default_factory=dict)


def gate(x):
    up = jnp.tanh(x)
    return up * 2.0


def reduced(x):
    def add(x):
        return jax.lax.psum(jnp.sin(x).sum(0), "data")

    return jax.shard_map(add, in_specs=P("data", None), out_specs=P())(x)


def reduced_twice(x):
    def add(x):
        total = jax.lax.psum(jnp.sin(x).sum(0), "data")
        return jax.lax.psum(total * jnp.cos(total), "data")

    return jax.shard_map(add, in_specs=P("data", None), out_specs=P())(x)


def steps(x):
    return jax.lax.fori_loop(0, 8, lambda _, x: jnp.sin(x) * 2.0, x)


def steps_transposed(x):
    return jax.lax.fori_loop(0, 8, lambda _, x: jnp.sin(jax.lax.optimization_barrier(x.T)) * 2.0, x)


def unrolled(x):
    for _ in range(8):
        x = jax.lax.optimization_barrier(jnp.sin(x) * 2.0)
    return x


def printed(x):
    jax.debug.print("largest {}", x.max())
    return gate(x)


def product(x, w):
    return jnp.tanh(x @ w)


def product_twice(x, w):
    return jnp.tanh(x @ w) + jnp.tanh((x + 1.0) @ w)


def summed(x):
    return (x * 0.5).sum(0)


def summed_double(x):
    return (x * np.float64(0.5)).sum(0)


TABLE = np.linspace(0, 1, 512 * 128, dtype=np.float32).reshape(512, 128)


def looked_up(table, ids):
    return table[ids] * 2.0


def looked_up_captured(table, ids):
    return jnp.asarray(TABLE)[ids] * 2.0 + table[0, 0]


def exchanged(x):
    return jax.shard_map(
        lambda x: jax.lax.all_to_all(x, "data", 1, 0, tiled=True), in_specs=P("data", None), out_specs=P(None, "data")
    )(x)


def exchanged_whole(x):
    def swap(x):
        whole = jax.lax.all_gather(x, "data", axis=0, tiled=True)
        size = whole.shape[1] // jax.lax.axis_size("data")
        return jax.lax.dynamic_slice_in_dim(whole, jax.lax.axis_index("data") * size, size, 1)

    return jax.shard_map(swap, in_specs=P("data", None), out_specs=P(None, "data"))(x)


def batch(x, w):
    return jnp.tanh(jax.lax.with_sharding_constraint(x, P("data", None)) @ w).sum()


def whole_batch(x, w):
    return jnp.tanh(jax.lax.with_sharding_constraint(x, P(None, None)) @ w).sum()


def repeated(x, times):
    return jnp.tile(x, times)


WIDE = {"mesh": {"data": 4}, "target": "cpu:4"}
WEIGHTS = S((128, 128), jnp.float32)

MISTAKES = [
    Mistake(
        "a sum over all devices too many", reduced, reduced_twice, (ROWS,),
        lambda of: of.collectives("all-reduce").bytes == 512, "all-reduce", WIDE,
    ),
    Mistake(
        "a transpose of what a loop carries", steps, steps_transposed, (S((256, 256), jnp.float32),),
        lambda of: of.no_copies(larger_than="64 KiB"), "256 KiB x 8", {"donate": 0},
    ),
    Mistake(
        "a static argument that changes", repeated, repeated, (ROWS, 2), lambda of: of.traces == 1, "times",
        {"static": 1, "calls": [(ROWS, 2)]}, {"calls": [(ROWS, 3)]},
    ),
    Mistake(
        "a loop that is unrolled", steps, unrolled, (ROWS,), lambda of: of.kernels <= 4, "kernels",
    ),
    Mistake(
        "a print that was left in", gate, printed, (ROWS,), lambda of: of.host_calls == 0, "host_calls",
    ),
    Mistake(
        "a product that is computed twice", product, product_twice, (ROWS, WEIGHTS),
        lambda of: of.flops <= "9 M", "flops",
    ),
    Mistake(
        "a number of NumPy that makes all of it float64", summed, summed_double, (ROWS,),
        lambda of: of.results == "512 B", "results",
    ),
    Mistake(
        "a table that becomes a part of the program", looked_up, looked_up_captured,
        (S((512, 128), jnp.float32), S((64,), jnp.int32)), lambda of: of.constants < "1 KiB", "float32[512,128]",
    ),
    Mistake(
        "a value made whole where it could be exchanged", exchanged, exchanged_whole, (ROWS,),
        lambda of: of.none("all-gather"), "all-gather", WIDE,
    ),
    Mistake(
        "a batch that lies whole on each device", batch, whole_batch, (S((4096, 128), jnp.float32), WEIGHTS),
        lambda of: of.peak < "2 MiB", "peak", WIDE,
    ),
]  # fmt: skip
