"""The matrix units of GPUs and TPUs, which round the float32 factors of products to a type with fewer bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xla_inspect.evaluation.plain_lines import PlainLines
    from xla_inspect.hlo import Instruction, Shape

TF32, BFLOAT16 = 10, 7
"""The bits of the fraction of both types, whose exponents have as many bits as that of float32."""

FACTOR_BITS = {"cuda": TF32, "tpu": BFLOAT16}
"""The bits to which products of the default precision round, by platform. How an AMD GPU rounds is not known here.

Source: https://docs.jax.dev/en/latest/201/precision.html. On an H100, they explain nearly all of the
difference of matmuls from float32 (docs/data/gpu-results.json). No TPU was measured.
"""

_MATMULS = frozenset({"__cublas$gemm", "__cublas$lt$matmul"})


def rounds_factors(product: Instruction, factors: Iterable[Shape], callers: Iterable[Instruction], bits: int) -> bool:
    """Return whether a matrix unit computes a product and rounds its factors.

    Args:
        product: A dot, a convolution, or a custom call.
        factors: The shapes of both factors.
        callers: The instructions that call the product's computation.
        bits: A number of `FACTOR_BITS`.
    """
    is_gpu = bits == TF32
    is_product = product.opcode == "dot" or (
        product.custom_call_target in _MATMULS if is_gpu else product.opcode == "convolution"
    )
    # The call of a library has its precision in its configuration.
    config = product.backend_config if product.custom_call_target else ""
    precision = f"{product.attributes.get('operand_precision', '')} {config}".lower()
    # For `high`, a GPU rounds to TF32, too, but a TPU adds several products in bfloat16.
    is_exact = ("highest" if is_gpu else "high") in precision
    has_algorithm = "algorithm" in product.attributes or "alg_dot" in precision
    # A fusion of another kind on a GPU computes products in float32.
    is_on_unit = not is_gpu or all(one.fusion_kind in {None, "kCustom"} for one in callers)
    is_default = not is_exact and not has_algorithm
    return is_product and is_on_unit and is_default and {shape.dtype for shape in factors} == {"f32"}


def round_factor(shape: Shape, name: str, bits: int, lines: PlainLines) -> str:
    """Add operations that round a float32 array as a matrix unit does, and return the name of their result."""
    if bits == BFLOAT16:
        return lines.add(shape.plain, f"reduce-precision({name}), exponent_bits=8, mantissa_bits={bits}")
    # A GPU rounds a number between two others away from zero, unlike `reduce-precision`.
    sizes, bits_below = shape.plain.removeprefix(shape.dtype), 23 - bits
    number = lines.add(f"u32{sizes}", f"bitcast-convert({name})")
    number = lines.add(f"u32{sizes}", f"add({number}, {lines.fill('u32', sizes, 1 << (bits_below - 1))})")
    number = lines.add(f"u32{sizes}", f"and({number}, {lines.fill('u32', sizes, (1 << 32) - (1 << bits_below))})")
    number = lines.add(shape.plain, f"bitcast-convert({number})")
    finite = lines.add(f"pred{sizes}", f"is-finite({name})")
    return lines.add(shape.plain, f"select({finite}, {number}, {name})")
