"""Statements about what the compilers dump, which passes run, and what a device is."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
from bare import QUIET, compiled, count, everywhere, shape, states
from jax.experimental import topologies
from jax.sharding import NamedSharding, PartitionSpec

LLO = """
import jax, sys
from jax.experimental import topologies
with jax.default_device(topologies.get_topology_desc("v5e:2x2", "tpu").devices[0]):
    jax.jit(lambda x: x + 1).lower(jax.ShapeDtypeStruct((8, 128), "float32")).compile()
"""


@states("pipeline, stablehlo, questions, ledger ptx-sass-llvm, flow-ends-in-llvm")
def writes_bundles() -> tuple[object, object]:
    """Libtpu writes a TPU's instructions when its own flags ask for them."""
    with tempfile.TemporaryDirectory() as folder:
        flags = f"--xla_jf_dump_to={folder} --xla_jf_dump_llo_text=true"
        environment = {**os.environ, **QUIET, "JAX_PLATFORMS": "cpu", "LIBTPU_INIT_ARGS": flags, "XLA_FLAGS": ""}
        subprocess.run([sys.executable, "-c", LLO], env=environment, check=True, capture_output=True)
        names = [file.name for file in Path(folder).iterdir()]
    return True, any(name.endswith("final_bundles.txt") for name in names)


@states("gallery")
def describes_megacore() -> tuple[object, object]:
    """A TPU v4 as its users have it is one device of two cores a chip."""
    settings: tuple[dict[str, str], ...] = ({}, {"chip_config_name": "megacore"})
    device_counts = [topologies.get_topology_desc("v4:2x2x1", "tpu", **setting).devices for setting in settings]
    return [(8, 1), (4, 2)], [(len(devices), devices[0].num_cores) for devices in device_counts]


def shard() -> jax.stages.Lowered:
    """Return a product that is summed over eight CPU devices, lowered."""
    mesh = jax.make_mesh((8,), ("x",), (jax.sharding.AxisType.Auto,), devices=jax.devices("cpu")[:8])
    operand = jax.ShapeDtypeStruct((64, 128), jnp.float32, sharding=NamedSharding(mesh, PartitionSpec(None, "x")))
    right = jax.ShapeDtypeStruct((128, 256), jnp.float32, sharding=NamedSharding(mesh, PartitionSpec("x", None)))
    return jax.jit(jnp.matmul, out_shardings=NamedSharding(mesh, PartitionSpec())).lower(operand, right)


@states("sharding")
def has_no_start_and_done() -> tuple[object, object]:
    """The CPU's collectives have no start and no done."""
    return [1, 0, 0], count(shard().compile().as_text() or "", "all-reduce", "all-reduce-start", "all-reduce-done")


@states("sharding, ledger shardy-makes-meshes, partitioned-automatically")
def partitions_with_the_older_pass() -> tuple[object, object]:
    """Shardy propagates, and the pass that partitions is still called spmd-partitioning."""
    with tempfile.TemporaryDirectory() as folder:
        shard().compile({"xla_dump_to": folder, "xla_dump_hlo_pass_re": ".*"})
        names = " ".join(sorted(file.name for file in Path(folder).iterdir()))
    passes = ("after_shardy-xla", "after_spmd-partitioning", "after_sharding-propagation")
    return [True, True, False], [name in names for name in passes]


@states("ledger cpu-dump-record, questions")
def records_passes() -> tuple[object, object]:
    """Xla_dump_module_metadata writes a record of the passes for GPU and TPU, and not for the CPU."""

    def look(target: str) -> int:
        with tempfile.TemporaryDirectory() as folder:
            options = {"xla_dump_to": folder, "xla_dump_module_metadata": True}
            compiled(lambda x: x * 2 + 1, shape(8), target=target, **options)
            return len(list(Path(folder).glob("*.metadata.textproto")))

    return {"cpu": 0, "h100": 1, "tpu": 1}, everywhere(look)
