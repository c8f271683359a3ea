"""The dense layer exported: once for three platforms, once for any number of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
from jax import export

from programs import layer

if TYPE_CHECKING:
    from jax.export import Exported


def exported_layer() -> Exported:
    """Return the dense layer exported for CPU, NVIDIA GPU and TPU in one module."""
    return export.export(jax.jit(layer.layer), platforms=("cpu", "cuda", "tpu"))(*layer.EXAMPLE)


def any_rows() -> Exported:
    """Return the dense layer exported for any number n of rows, f32[n,128] to f32[n,256]."""
    (n,) = export.symbolic_shape("n")
    x, *weights = layer.EXAMPLE
    return export.export(jax.jit(layer.layer))(jax.ShapeDtypeStruct((n, x.shape[1]), x.dtype), *weights)


if __name__ == "__main__":
    written: bytearray = exported_layer().serialize()
    print(export.deserialize(written))
    print(any_rows())
