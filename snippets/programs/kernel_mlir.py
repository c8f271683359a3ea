"""The MLIR that XLA's CPU compiler makes of each fusion, after its own MLIR passes."""

from __future__ import annotations

import tempfile
from pathlib import Path

import jax

from programs import layer


def kernel_mlir() -> dict[str, str]:
    """Return the MLIR that XLA dumps for each kernel of the dense layer, by the end of the dumped file's name."""
    with tempfile.TemporaryDirectory() as folder:
        # The pass that splits a loop over this machine's cores is off, so that every machine gets the same loop.
        options = {
            "xla_dump_to": folder,
            "xla_dump_emitter_re": ".*",
            "xla_disable_hlo_passes": "cpu-parallel-task-assigner",
        }
        jax.jit(layer.layer).lower(*layer.EXAMPLE).compile(options)
        return {path.stem.partition("_module-")[2]: path.read_text() for path in sorted(Path(folder).glob("*.mlir"))}


if __name__ == "__main__":
    for stage, text in kernel_mlir().items():
        print(f"// {stage}\n{text}")
