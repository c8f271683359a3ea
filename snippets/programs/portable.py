"""An exported program in VHLO, the versioned form of StableHLO, as one version of it writes the program down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
from jax import export
from jax.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.passmanager import PassManager

from programs import gelu

if TYPE_CHECKING:
    from jax.export import Exported


def read(artifact: bytes) -> str:
    """Return the StableHLO of a portable artifact, whatever version wrote it."""
    context = mlir.make_ir_context()
    stablehlo.register_dialect(context)
    return str(stablehlo.deserialize_portable_artifact(context, artifact))


def portable(exported: Exported, version: str) -> str:
    """Return an exported program in VHLO of a version of StableHLO, such as `1.0.0`.

    Raises:
        ValueError: That version had no way to say it; the message is the compiler's.
    """
    with mlir.make_ir_context() as context:
        stablehlo.register_dialect(context)
        stablehlo.register_stablehlo_passes()
        module = stablehlo.deserialize_portable_artifact(context, exported.mlir_module_serialized)
        steps = f"builtin.module(stablehlo-legalize-to-vhlo,vhlo-to-version{{target={version}}})"
        try:
            PassManager.parse(steps).run(module.operation)
        except ir.MLIRError as error:
            said = [found.message for found in error.error_diagnostics]
            raise ValueError("\n".join(message.partition(": %")[0] for message in said)) from None
        return str(module)


if __name__ == "__main__":
    print(portable(export.export(jax.jit(gelu.gelu))(*gelu.EXAMPLE), "1.0.0"))
