"""Recognition of files that hold a program as MLIR, such as StableHLO, and not as HLO."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

ENDINGS = (".mlir", ".mlirbc", ".mlir.bc", ".vhlo", ".stablehlo", ".jaxexport")
"""The ends of the names of files with MLIR; a file with another name is recognized by its first bytes."""

BYTECODE = b"ML\xefR"
"""The first bytes of MLIR's bytecode; the files of `jax.export` have other data in front of it."""

_MLIR = re.compile(
    rb"^[ \t]*\"?(?:module\b.*\{|builtin\.module|func\.func|#loc)|\b(?:stablehlo|mhlo|vhlo|chlo)\.|\btensor<",
    re.MULTILINE,
)
_HLO = re.compile(rb"^[ \t]*(?:HloModule\b|ENTRY )", re.MULTILINE)
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_LOOK = 64 << 10


def is_mlir(data: bytes) -> bool:
    """Return whether a file has MLIR as text or bytecode, or is one of `jax.export`, by its first bytes."""
    head = data[:_LOOK]
    if BYTECODE in head:
        return True
    return bool(_MLIR.search(head)) and not (_HLO.search(head) or _BINARY.search(head))


def is_mlir_file(path: Path) -> bool:
    """Return whether a file on disk has MLIR, by the end of its name or its first bytes."""
    if not path.is_file():
        return False
    if path.name.lower().endswith(ENDINGS):
        return True
    try:
        with path.open("rb") as file:
            return is_mlir(file.read(_LOOK))
    except OSError:
        return False
