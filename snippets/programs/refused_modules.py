"""StableHLO written by hand: a module that the parser accepts, and the errors for four that it rejects."""

from __future__ import annotations

from jax.interpreters import mlir
from jaxlib.mlir import ir

ACCEPTED = """
func.func @main(%A: tensor<64x128xf32>, %B: tensor<128x256xf32>, %bias: tensor<256xf32>) -> tensor<64x256xf32> {
  %product = stablehlo.dot_general %A, %B, contracting_dims = [1] x [0]
      : (tensor<64x128xf32>, tensor<128x256xf32>) -> tensor<64x256xf32>
  %rows = stablehlo.broadcast_in_dim %bias, dims = [1] : (tensor<256xf32>) -> tensor<64x256xf32>
  %sum = stablehlo.add %product, %rows : tensor<64x256xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<64x256xf32>
  %result = stablehlo.maximum %sum, %zero : tensor<64x256xf32>
  return %result : tensor<64x256xf32>
}
"""
# What is changed in it: the line as it stands, and as a hand that guesses might write it.
CHANGES = {
    "a unary maximum": ("stablehlo.maximum %sum, %zero", "stablehlo.maximum %sum"),
    "a bias that is not broadcast": ("%product, %rows : tensor<64x256xf32>", "%product, %bias : tensor<64x256xf32>"),
    "a contraction over unequal sizes": ("contracting_dims = [1] x [0]", "contracting_dims = [1] x [1]"),
    "an operation that does not exist": (
        "stablehlo.maximum %sum, %zero : tensor<64x256xf32>",
        '"stablehlo.erf"(%sum) : (tensor<64x256xf32>) -> tensor<64x256xf32>',
    ),
}


def refused_modules() -> dict[str, tuple[str, str]]:
    """Return for each change of the accepted module the wrong text and the parser's first error message."""
    refused = {}
    with mlir.make_ir_context():
        ir.Module.parse(ACCEPTED)
        for name, (right, wrong) in CHANGES.items():
            try:
                ir.Module.parse(ACCEPTED.replace(right, wrong))
            except ir.MLIRError as error:
                refused[name] = (wrong, error.error_diagnostics[0].message)
    return refused


if __name__ == "__main__":
    for line in refused_modules().items():
        print(line)
