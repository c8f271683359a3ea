"""Checks of claims about StableHLO, PJRT and portability."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
from functools import cache

import jax
import jax.numpy as jnp
from jax import export
from jax._src.interpreters import mlir
from jax.experimental import serialize_executable
from jax.extend.backend import get_backend
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import _chlo_ops_gen, _stablehlo_ops_gen, stablehlo

from claims.evidence import expect, is_about, program, watched
from claims.finding import Finding, only
from programs import gelu, portable
from xla_inspect.plural import plural

LISTING = """module @layer {
  func.func public @main(%a: tensor<64x128xf32>, %b: tensor<128x256xf32>, %c: tensor<256xf32>) -> tensor<64x256xf32> {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x128xf32>, tensor<128x256xf32>) -> tensor<64x256xf32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<256xf32>) -> tensor<64x256xf32>
    %2 = stablehlo.add %0, %1 : tensor<64x256xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<64x256xf32>
    %3 = stablehlo.maximum %2, %zero : tensor<64x256xf32>
    return %3 : tensor<64x256xf32>
  }
}
"""  # noqa: E501 - an operation is one line


@cache
def operations(dialect: str) -> frozenset[str]:
    """Return the operations of `stablehlo` or `chlo` in the installed jaxlib."""
    module = {"stablehlo": _stablehlo_ops_gen, "chlo": _chlo_ops_gen}[dialect]
    # The generated module also contains classes that are no operations.
    classes = (value for value in vars(module).values() if isinstance(value, type))
    return frozenset(str(operation.OPERATION_NAME) for operation in classes if hasattr(operation, "OPERATION_NAME"))


def number_of_operations(claimed: int) -> Finding:
    """Return the finding on the claimed number of StableHLO operations."""
    number = len(operations("stablehlo"))
    return only(is_about(number, claimed), f"{number} operations, and {len(operations('chlo'))} in CHLO")


def has_erf() -> Finding:
    """Return the finding on the claim that GELU lowers to `stablehlo.erf`."""
    text = program("gelu")["cpu"].stablehlo
    spellings = [name for name in ("stablehlo.erf", "chlo.erf") if name in text]
    expect(bool(program("gelu")["cpu"].unoptimized_module.opcode_counts()["erf"]), "it becomes an HLO opcode")
    return only(
        "stablehlo.erf" in operations("stablehlo"), f"StableHLO has no such operation; GELU contains `{spellings[0]}`"
    )


def listing_is_valid() -> Finding:
    """Return the finding on the claim that the usual listing of relu(A @ B + bias) is valid StableHLO."""
    try:
        with mlir.make_ir_context():
            good = ir.Module.parse(LISTING).operation.verify()
    except ir.MLIRError as error:
        return only(holds=False, evidence=str(error).splitlines()[0])
    return only(good, "MLIR parses and verifies it")


@cache
def _exported() -> export.Exported:
    return export.export(jax.jit(gelu.gelu))(*gelu.EXAMPLE)


def is_portable() -> Finding:
    """Return the finding on the claim that the current version reads StableHLO written for an early version."""
    again = portable.read(_exported().mlir_module_serialized)
    early = portable.portable(again, "1.0.0")
    good = "vhlo." in early and "stablehlo." in again
    return only(good, f"version {stablehlo.get_current_version()} reads GELU written for version 1.0.0")


def across_major_versions(claimed: int) -> Finding:
    """Return the finding on the claim that programs of an early version work in the next major version."""
    portability = is_portable().cases[""]
    current = stablehlo.get_current_version()
    return only(bool(portability.holds), portability.found).but(
        int(current.split(".")[0]) >= claimed,
        f"the current version is {current}, the oldest readable version {stablehlo.get_minimum_version()}",
    )


def is_compiled() -> Finding:
    """Return the finding on the claim that a program saved as StableHLO is compiled."""
    loaded = export.deserialize(_exported().serialize())
    expect(callable(serialize_executable.serialize), "jax.experimental.serialize_executable saves a compiled program")
    x = jnp.ones((4, 8))
    with watched() as events:
        jax.jit(loaded.call)(x).block_until_ready()
    return only(
        not events.compiled, f"the first call of a loaded program compiles {plural(len(events.compiled), 'module')}"
    )


def converter_tools() -> Finding:
    """Return the finding on the claim that tools named `jax2stablehlo` and `tf2stablehlo` create StableHLO."""
    names = ("jax2stablehlo", "tf2stablehlo")
    scripts = {point.name for point in importlib.metadata.entry_points(group="console_scripts")}
    # A tool may be installed as a module, as an entry point, or as a program on the path.
    installed = [name for name in names if importlib.util.find_spec(name) or name in scripts or shutil.which(name)]
    expect("stablehlo." in jax.jit(jnp.sin).lower(1.0).as_text(), "lowering produces StableHLO")
    return only(len(installed) == len(names), f"installed with JAX: {', '.join(installed) or 'neither'}")


def pjrt_is_pluggable() -> Finding:
    """Return the finding on the claim that PJRT is called from C++ and Python, and that a backend is a plugin."""
    client = get_backend()
    plugins = [point.name for point in importlib.metadata.entry_points(group="jax_plugins")]
    good = callable(getattr(client, "compile_and_load", None)) and client.platform == "cpu"
    captures = program("layer")
    targets = [capture.target for capture in (captures[name] for name in captures.targets)]
    return only(
        good and len(targets) > 1,
        f"the `{client.platform}` client compiles from Python; the plugins are `{', '.join(plugins)}` and libtpu",
    )
