"""Files with the same layer as StableHLO in each form that a subject may have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import pytest
from jax import export

from programs import layer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LAYER = """module @jit_dense {
  func.func public @main(%x: tensor<64x128xf32>, %w: tensor<128x256xf32>) -> tensor<64x256xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<64x128xf32>, tensor<128x256xf32>) -> tensor<64x256xf32>
    %1 = call @relu(%0) : (tensor<64x256xf32>) -> tensor<64x256xf32>
    return %1 : tensor<64x256xf32>
  }
  func.func private @relu(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<64x256xf32>
    %0 = stablehlo.maximum %x, %zero : tensor<64x256xf32>
    return %0 : tensor<64x256xf32>
  }
}
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str | bytes], str]:
    """A function that writes a file into an empty working folder, and returns its name."""
    monkeypatch.chdir(tmp_path)

    def write_file(name: str, content: str | bytes) -> str:
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return name

    return write_file


@pytest.fixture(scope="session")
def exported() -> export.Exported:
    """The layer of `programs`, exported by JAX."""
    return export.export(jax.jit(layer.layer))(*layer.EXAMPLE)
