"""Claims about who shards what."""

from __future__ import annotations

import re
from functools import cache

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec

from claims.finding import Finding, only

DEVICES = 4


@cache
def _lowered() -> str:
    """Return a product over a mesh of four devices, lowered."""
    auto = (jax.sharding.AxisType.Auto,)
    mesh = jax.make_mesh((DEVICES,), ("rows",), auto, devices=jax.devices("cpu")[:DEVICES])
    x = jax.ShapeDtypeStruct((64, 128), jnp.float32, sharding=NamedSharding(mesh, PartitionSpec("rows")))
    w = jax.ShapeDtypeStruct((128, 256), jnp.float32, sharding=NamedSharding(mesh, PartitionSpec()))
    return jax.jit(jnp.matmul).lower(x, w).as_text()


def shardy_makes_the_mesh() -> Finding:
    """Shardy chooses mesh and shardings by itself."""
    found = re.findall(r"sdy\.mesh @\w+ = <(.*?)>", _lowered())
    ours = found == [f'["rows"={DEVICES}]']
    return only(not ours, f"the module holds the mesh that the program made: `{found[0] if found else 'none'}`")


def both_partitioners() -> Finding:
    """A module is partitioned from annotations, by GSPMD or Shardy."""
    text = _lowered()
    annotated = f"mhlo.num_partitions = {DEVICES}" in text and ("sdy.sharding" in text or "mhlo.sharding" in text)
    return only(annotated, "one module is annotated for all devices").but(
        "mhlo.sharding" in text, "the annotations are Shardy's `sdy.sharding`, and none are GSPMD's `mhlo.sharding`"
    )
