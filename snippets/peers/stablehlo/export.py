"""Write the four programs as JAX exports them, as text without source locations, beside this file.

`.venv/bin/python -m peers.stablehlo.export` in the project's environment; a test says when they are not what the pinned
JAX exports. A new text makes the records stale that were made from it.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import jax
from jax import export
from jax.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from peers import given
from programs import exported_layer

ANY_ROWS = "layer_any_rows"
"""The dense layer for any number of rows."""

PROGRAMS = (*given.SHAPES, ANY_ROWS)


def text(program: str) -> str:
    """Return a program of `snippets/programs` as `jax.export` writes it for the CPU, without source locations."""
    if program == ANY_ROWS:
        exported = exported_layer.any_rows()
    else:
        module = importlib.import_module(f"programs.{program}")
        exported = export.export(jax.jit(getattr(module, program)), platforms=("cpu",))(*module.EXAMPLE)
    context: Any = mlir.make_ir_context()
    stablehlo.register_dialect(context)
    parsed: Any = ir.Module.parse(exported.mlir_module(), context)
    return str(parsed.operation.get_asm(enable_debug_info=False)).strip() + "\n"


def main() -> None:
    """Write all of them."""
    for program in PROGRAMS:
        (Path(__file__).parent / f"{program}.mlir").write_text(text(program), encoding="utf-8")


if __name__ == "__main__":
    main()
