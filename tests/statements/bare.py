"""Compilation with JAX alone, independent of this project."""

from __future__ import annotations

import functools
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import topologies

type Trial = Callable[[], tuple[object, object]]

SPEC = Path(__file__).parents[2] / "snippets" / "xla_inspect" / "targets" / "gpu_specs" / "h100.txtpb"


TILES = "xla_gpu_experimental_cost_model_gemm_tiling_default"
"""The option by which XLA's cost model chooses the tile of a matmul, which no GPU can time here."""

TARGETS = ("cpu", "h100", "tpu")


QUIET = {
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
}


FLOATS = (jnp.float32, jnp.bfloat16, jnp.float16)


TYPES = (jnp.float32, jnp.bfloat16, jnp.int32)


@dataclass(frozen=True)
class Statement:
    """A statement, the pages that make it, and the trial of it.

    Attributes:
        pages: The pages that say so.
        says: The statement.
        trial: A function that returns the expected and the observed result.
    """

    pages: str
    says: str
    trial: Trial


STATEMENTS: list[Statement] = []


def states(pages: str) -> Callable[[Trial], Trial]:
    """Register a function as the trial of the statement in its docstring.

    Args:
        pages: The pages that say so.
    """

    def take(trial: Trial) -> Trial:
        STATEMENTS.append(Statement(pages, (trial.__doc__ or "").strip(), trial))
        return trial

    return take


def prepare() -> None:
    """Let JAX compile for all targets in this process, with a fixed instruction set for the CPU."""
    for name, value in {**QUIET, "TPU_LOG_DIR": tempfile.gettempdir()}.items():
        os.environ.setdefault(name, value)
    if not os.environ.get("XLA_FLAGS"):
        os.environ["XLA_FLAGS"] = "--xla_cpu_max_isa=AVX2"
    if jax.config.jax_platforms is None:
        jax.config.update("jax_platforms", "cpu")
    if jax.config.jax_num_cpu_devices < 1:
        jax.config.update("jax_num_cpu_devices", 8)


@functools.cache
def find_device(target: str) -> jax.Device:
    """Return a device to compile for."""
    if target == "cpu":
        return jax.devices("cpu")[0]
    if target == "h100":
        spec = SPEC.read_text(encoding="utf-8")
        topology = topologies.get_topology_desc("h100", "cuda", target_config=spec, topology="1x1x1")
    else:
        topology = topologies.get_topology_desc("v5e:2x2", "tpu")
    device: jax.Device = topology.devices[0]
    return device


def compiled(
    function: Callable[..., Any], *example: object, target: str = "cpu", give: tuple[int, ...] = (), **options: object
) -> jax.stages.Compiled:
    """Compile a function for a target, with donated arguments `give`; for a GPU without autotuning."""
    settings = {"xla_gpu_autotune_level": 0, TILES: True, **options} if target == "h100" else options
    with jax.default_device(find_device(target)):
        return jax.jit(function, donate_argnums=give).lower(*example).compile(settings)


def text(function: Callable[..., Any], *example: object, target: str = "cpu", **options: object) -> str:
    """Return the optimized HLO of a function."""
    return compiled(function, *example, target=target, **options).as_text() or ""


def shape(*dimensions: int, dtype: object = jnp.float32) -> jax.ShapeDtypeStruct:
    """Return the shape of an argument."""
    return jax.ShapeDtypeStruct(dimensions, dtype)


def count(module: str, *opcodes: str) -> list[int]:
    """Return the number of instructions of a module by opcode."""
    return [module.count(f" {opcode}(") for opcode in opcodes]


def kinds(module: str) -> list[str]:
    """Return the kinds of the fusions of the entry computation, in order."""
    return re.findall(r" fusion\(.*kind=(\w+)", module[module.index("\nENTRY") :])


def launched(module: str) -> int:
    """Return the number of instructions of the entry computation that compute something."""
    idle = {"parameter", "constant", "bitcast", "tuple", "get-tuple-element", "copy-start", "copy-done"}
    lines = module[module.index("\nENTRY") :].splitlines()
    opcodes = [match[1] for line in lines if (match := re.match(r"\s+(?:ROOT )?%?[\w.-]+ = .*? ([a-z][\w-]*)\(", line))]
    return sum(opcode not in idle for opcode in opcodes)


def everywhere(look: Callable[[str], object], targets: Iterable[str] = TARGETS) -> dict[str, object]:
    """Return the observation on each target."""
    return {target: look(target) for target in targets}


def same(value: object, targets: Iterable[str] = TARGETS) -> dict[str, object]:
    """Return the same expected observation for all targets."""
    return dict.fromkeys(targets, value)


def try_all(statements: Iterable[Statement]) -> bool:
    """Try statements, print expected and observed results, and return whether all hold."""
    hold = True
    for statement in statements:
        expected, observed = statement.trial()
        verdict = "holds" if expected == observed else "FAILS"
        sys.stdout.write(f"{verdict}  {statement.says} [{statement.pages}]\n")
        sys.stdout.write(f"       expected {expected}\n       seen     {observed}\n")
        hold = hold and expected == observed
    return hold
