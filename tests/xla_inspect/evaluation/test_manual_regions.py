"""Parts of a program that are written for each device run before the partitioning, with whole values around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from xla_inspect import capture
from xla_inspect.evaluation.plain_lines import UnknownOperationError
from xla_inspect.hlo import parse_module

if TYPE_CHECKING:
    from xla_inspect.evaluation import Evaluator

P = jax.P
X = np.random.default_rng(0).integers(1, 9, (8, 16)).astype(np.float32)


def share(x: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Compute on each device, for one axis of the mesh, for both, and for one inside the other."""

    def scale(x: jax.Array) -> jax.Array:
        return x * (1 + jax.lax.axis_index("rows")) + jax.lax.psum(x.sum(), "rows")

    def rotate(x: jax.Array) -> jax.Array:
        return jax.lax.ppermute(x.T, "columns", [(device, (device + 1) % 4) for device in range(4)])

    one_axis = jax.shard_map(scale, in_specs=P("rows"), out_specs=P("rows"), axis_names={"rows"}, check_vma=False)
    both = jax.shard_map(rotate, in_specs=P("rows", "columns"), out_specs=P("columns", "rows"), check_vma=False)

    def rotate_columns(x: jax.Array) -> jax.Array:
        inner = jax.shard_map(rotate, in_specs=P(None, "columns"), out_specs=P("columns"), axis_names={"columns"})
        return inner(x) * (1 + jax.lax.axis_index("rows"))

    nested = jax.shard_map(rotate_columns, in_specs=P("rows"), out_specs=P(None, "rows"), axis_names={"rows"})
    return one_axis(x), both(x), nested(x)


def test_parts_for_one_axis_for_all_axes_and_inside_another_part_get_their_shares(evaluator: Evaluator) -> None:
    example = jax.ShapeDtypeStruct(X.shape, jnp.float32)
    mesh = {"rows": 2, "columns": 4}
    program = capture(share, example, target="cpu:8", mesh=mesh, specs=(P("rows", "columns"),))
    whole = [change for change in program.passes if "_spmd (" not in change.text]
    assert any("SPMDShardToFullShape" in change.text for change in whole)
    rotated = np.roll(X.T, 4, 0)
    scaled = np.concatenate([X[:4] + X.sum(), 2 * X[4:] + X.sum()])
    expected = scaled, rotated, rotated * np.repeat([1, 2], 4)
    for module in (program.unoptimized_module, *(change.module for change in whole)):
        for results, values in zip(evaluator.run(module, [[X] * 8]), expected, strict=True):
            np.testing.assert_array_equal(np.stack(results), np.stack([values] * 8))


def test_an_edge_with_another_sharding_is_named(evaluator: Evaluator) -> None:
    text = """HloModule m, num_partitions=4

ENTRY %main {
  %x = f32[8] parameter(0), sharding={devices=[2,2]<=[4] last_tile_dim_replicate}
  ROOT %y = f32[2] custom-call(%x), custom_call_target="SPMDFullToShardShape", sharding={manual}
}
"""
    with pytest.raises(UnknownOperationError, match=r"y: the sharding \{devices=\[2,2\].* is not understood"):
        evaluator.run(parse_module(text), [[X[:, 0]] * 4])
