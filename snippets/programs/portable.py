"""A StableHLO module in VHLO, its versioned form, as one version of StableHLO writes it down."""

from __future__ import annotations

import jax
from jax import export
from jax.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.passmanager import PassManager

from programs import gelu


def read(artifact: bytes) -> str:
    """Return the StableHLO of a portable artifact, whatever version wrote it."""
    context = mlir.make_ir_context()
    stablehlo.register_dialect(context)
    return str(stablehlo.deserialize_portable_artifact(context, artifact))


def portable(text: str, version: str) -> str:
    """Return the text of a StableHLO module converted to VHLO of a version of StableHLO, such as `1.0.0`.

    Raises:
        ValueError: That version cannot express the module; the message is the compiler's.
    """
    with mlir.make_ir_context() as context:
        stablehlo.register_dialect(context)
        stablehlo.register_stablehlo_passes()
        module = ir.Module.parse(text)
        steps = f"builtin.module(stablehlo-legalize-to-vhlo,vhlo-to-version{{target={version}}})"
        try:
            PassManager.parse(steps).run(module.operation)
        except ir.MLIRError as error:
            said = [found.message for found in error.error_diagnostics]
            raise ValueError("\n".join(message.partition(": %")[0] for message in said)) from None
        return str(module)


if __name__ == "__main__":
    written = export.export(jax.jit(gelu.gelu))(*gelu.EXAMPLE)
    print(portable(read(written.mlir_module_serialized), "1.0.0"))
