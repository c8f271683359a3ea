"""Public tests of HLO text, rewritten as assertions: each fails if its property is lost.

The threads stand in docs/hold.md.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec as P

from xla_inspect.budgets import BrokenError, hold_call
from xla_inspect.budgets.regression_causes import Causes

S = jax.ShapeDtypeStruct
FOUR = {"mesh": {"data": 4}}


@pytest.fixture(autouse=True)
def _no_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the search for the pass, because it needs another compilation for each failure."""
    monkeypatch.setattr(Causes, "finder", None)


def gather(x: jax.Array) -> jax.Array:
    return jax.shard_map(
        lambda x: jax.lax.all_gather(x, "data", tiled=True), in_specs=P("data"), out_specs=P(), check_vma=False
    )(x)


@pytest.mark.parametrize("target", ["cpu:4", "h100:4", "tpu-v5e:2x2"])
def test_bytes_communicated_are_counted_whether_collectives_are_synchronous_or_not(target: str) -> None:
    """NVIDIA/TransformerEngine#3398: its tests saw zero bytes once XLA made collectives synchronous."""
    step = hold_call(gather, S((4096, 64), jnp.float32), target=target, **FOUR)
    assert step.collectives("all-gather", over="data").bytes == "256 KiB"
    assert step.collectives("all-gather").bytes != 0


def test_one_kernel_stays_one_kernel_for_any_order_of_lines() -> None:
    """jax#34434: a regular expression broke when two lines of HLO swapped."""

    def swish(x: jax.Array, *, swapped: bool) -> jax.Array:
        if swapped:
            gate = jax.nn.sigmoid(x)
            double = x * 2
        else:
            double = x * 2
            gate = jax.nn.sigmoid(x)
        return double * gate

    for swapped in (True, False):
        step = hold_call(functools.partial(swish, swapped=swapped), S((1024,), jnp.float32), target="h100")
        step.one_kernel("double", "gate")
        assert step.kernels == 1


def test_a_checkpoint_saves_memory_with_any_optimized_text() -> None:
    """jax#26221: JAX took out its own test of optimized HLO, "too strict"."""

    def loss(x: jax.Array, ws: jax.Array, *, remat: bool) -> jax.Array:
        def layer(x: jax.Array, w: jax.Array) -> tuple[jax.Array, None]:
            return jnp.sin(jnp.sin(jnp.sin(x @ w))), None

        return jax.lax.scan(jax.checkpoint(layer) if remat else layer, x, ws)[0].sum()

    args = S((512, 128), jnp.float32), S((16, 128, 128), jnp.float32)
    other_saved, saved = (
        hold_call(jax.grad(functools.partial(loss, remat=remat), argnums=1), *args, target="h100")
        for remat in (False, True)
    )
    assert saved.temporaries < other_saved.temporaries


def test_sharding_is_checked_without_a_dump() -> None:
    """pytorch/xla#8855: a test dumps into a temporary folder and reads the files, to see what is sharded."""

    def step(x: jax.Array, w: jax.Array) -> jax.Array:
        return jax.lax.with_sharding_constraint(x, P("data", None)) @ w

    args = S((1024, 256), jnp.float32), S((256, 256), jnp.float32)
    sharded, whole = hold_call(step, *args, target="cpu:4", **FOUR), hold_call(lambda x, w: x @ w, *args)
    sharded.none()
    assert sharded.flops < whole.flops
    assert sharded.flops == whole.flops.number / 4


def test_a_program_that_was_compiled_ahead_is_the_same_as_the_one_that_jit_compiles() -> None:
    """AI-Hypercomputer/maxtext#1943: hashes of files of HLO were compared."""

    def step(x: jax.Array) -> jax.Array:
        return jnp.tanh(x) * 2

    def renamed(value: jax.Array) -> jax.Array:
        return jnp.tanh(value) * 2

    ahead = hold_call(step, S((64,), jnp.float32))
    ahead.same_as(hold_call(jax.jit(renamed), S((64,), jnp.float32)))
    with pytest.raises(BrokenError):
        ahead.same_as(hold_call(lambda x: jnp.tanh(x) * 3, S((64,), jnp.float32)))


def test_a_donation_that_does_not_work_is_loud() -> None:
    """jax#9675: loud failures if donate_argnums does not work."""

    def update(state: jax.Array, *, dtype: Any) -> jax.Array:  # noqa: ANN401 - any type
        return (state + 1).astype(dtype)

    narrow = functools.partial(update, dtype=jnp.bfloat16)
    hold_call(functools.partial(update, dtype=jnp.float32), S((1024,), jnp.float32), donate=0).in_place(0)
    with pytest.raises(BrokenError, match=r"state \(4 KiB\): no result takes its place"):
        hold_call(narrow, S((1024,), jnp.float32), donate=0).donated(0)


def test_nothing_is_traced_after_the_first_call() -> None:
    """vllm-project/vllm#14580: fail when anything compiles after warm-up."""

    def step(x: jax.Array, rate: Any) -> jax.Array:  # noqa: ANN401 - a number or an array
        return x * rate

    row = S((8,), jnp.float32)
    assert hold_call(step, row, 0.1, calls=[(row, 0.2)] * 3).traces == 1
    assert hold_call(step, row, 0.1, calls=[(S((7,), jnp.float32), 0.2)]).traces == 2
