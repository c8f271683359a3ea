"""Checks of claims about the components that shard a program."""

from __future__ import annotations

import re
from functools import cache

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec

from claims.evidence import expect
from claims.finding import Finding, only
from programs import mlp, placed
from xla_inspect import capture

DEVICES = 4


@cache
def annotated() -> str:
    """Return the StableHLO of a matmul over a mesh of four devices."""
    auto = (jax.sharding.AxisType.Auto,)
    mesh = jax.make_mesh((DEVICES,), ("rows",), auto, devices=jax.devices("cpu")[:DEVICES])
    x = jax.ShapeDtypeStruct((64, 128), jnp.float32, sharding=NamedSharding(mesh, PartitionSpec("rows")))
    w = jax.ShapeDtypeStruct((128, 256), jnp.float32, sharding=NamedSharding(mesh, PartitionSpec()))
    return jax.jit(jnp.matmul).lower(x, w).as_text()


def shardy_makes_the_mesh() -> Finding:
    """Return the finding on the claim that Shardy chooses mesh and shardings automatically."""
    meshes = re.findall(r"sdy\.mesh @\w+ = <(.*?)>", annotated())
    ours = meshes == [f'["rows"={DEVICES}]']
    _expect_partitioner()
    return only(not ours, f"the module contains the program's own mesh: `{meshes[0] if meshes else 'none'}`")


def both_partitioners() -> Finding:
    """Return the finding on the claim that a module is partitioned according to annotations, by GSPMD or Shardy."""
    text = annotated()
    holds = f"mhlo.num_partitions = {DEVICES}" in text and ("sdy.sharding" in text or "mhlo.sharding" in text)
    _expect_partitioner()
    return only(holds, "one annotated module describes all devices").but(
        "mhlo.sharding" in text, "the annotations are Shardy's `sdy.sharding`, and none are GSPMD's `mhlo.sharding`"
    )


def _expect_partitioner() -> None:
    """Assert that Shardy determines the shardings of values, and that the older partitioner's pass partitions them."""
    sharded = capture(mlp.mlp, *mlp.EXAMPLE, target="cpu:8", mesh={"x": 8}, specs=placed.SPECS["tensor"])
    passes = [run.name for run in sharded.runs if run.changed]
    expect("shardy-xla" in passes, "Shardy propagates the shardings to the other values")
    expect("spmd-partitioning" in passes, "the older partitioner's pass partitions them")
    older = [run.name for run in sharded.runs if run.name == "sharding-propagation"]
    expect(not older, "the older partitioner propagates no shardings")
