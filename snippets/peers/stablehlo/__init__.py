"""The four programs as JAX exported them: StableHLO, for compilers that read it. `export.py` writes them."""

from __future__ import annotations

from pathlib import Path


def read(program: str) -> str:
    """Return the StableHLO of a program, as text."""
    return (Path(__file__).parent / f"{program}.mlir").read_text(encoding="utf-8")
