"""Checks of claims about layouts and hardware."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from claims.evidence import expect, pass_names, program
from claims.finding import Finding, by_target, cases
from programs import product
from xla_inspect import capture

if TYPE_CHECKING:
    from xla_inspect import Capture

# The labels of the input come before the underscore, those of the kernel after it.
LABELS = re.compile(r"dim_labels=(\w+)_")
MMA = re.compile(r"\b(?:wgmma\.mma_async|mma)\.sync\.[\w.]+")
VOLUMES = (jax.ShapeDtypeStruct((2, 8, 8, 8, 16), jnp.float32), jax.ShapeDtypeStruct((3, 3, 3, 16, 16), jnp.float32))


def layout_after_fusion() -> Finding:
    """Return the finding on the claim that layouts are assigned after fusion."""
    fusion_at, layout_at = dict[str, int](), dict[str, int]()

    def look(capture: Capture) -> tuple[bool, str]:
        names = pass_names(capture)
        fusion_pass = next(step.name for step in capture.passes if "fusion" in step.module.opcode_counts())
        layout, fusion = names.index("layout-assignment"), names.index(fusion_pass)
        fusion_at[capture.target], layout_at[capture.target] = fusion + 1, layout + 1
        return (
            layout > fusion,
            f"`layout-assignment` is pass run {layout + 1}, `{fusion_pass}` is pass run {fusion + 1}",
        )

    return by_target(program("layer"), look).compared(
        "position of layout assignment among the pass runs", fusion_at, layout_at
    )


def layouts_are_tiled() -> Finding:
    """Return the finding on the claim that a layout may be tiled."""

    def look(capture: Capture) -> tuple[bool, str]:
        root = str(capture.module.entry.root.shape)
        return "T(" in root, f"`{root}`"

    return by_target(program("layer"), look)


def to_channels_first() -> Finding:
    """Return the finding on the claim that layout assignment turns NHWC convolutions into NCHW."""
    last, first = (program("disputed", f"convolution {order}") for order in ("NHWC", "NCHW"))
    from_nhwc = [_labels(last[target].after) for target in last.targets]
    expect(from_nhwc == ["b01f"] * len(from_nhwc), "no target changes NHWC at this size")
    from_nchw = [_labels(first[target].after) for target in first.targets]
    expect(from_nchw == ["b01f", "b01f", "bf01"], f"CPU and H100 change NCHW and the TPU keeps it; found {from_nchw}")

    def look(capture: Capture) -> tuple[bool, str]:
        before, after = _labels(capture.before), _labels(capture.after)
        return after.startswith("bf"), f"the input's dimension order, `{before}`, {_describe_change(before, after)}"

    return by_target(program("disputed", "convolution NHWC"), look)


def to_channels_first_on_gpu() -> Finding:
    """Return the finding on the claim that NHWC convolutions become NCHW on a GPU."""
    last, first = (program("disputed", f"convolution {order}", ("h100", "mi300x")) for order in ("NHWC", "NCHW"))
    expect(_labels(first["h100"].after).startswith("b01"), "NCHW becomes NHWC on the H100")
    deep = capture(convolve_volumes, *VOLUMES, target="h100")
    expect(_labels(deep.after) == "bf012", "over three dimensions, the H100's compiler puts channels first")

    def look(capture: Capture) -> tuple[bool, str]:
        other = first[capture.target]
        before, after = _labels(capture.before), _labels(capture.after)
        evidence = f"NHWC, `{before}`, {_describe_change(before, after)}; NCHW, `{_labels(other.before)}`, "
        return after.startswith("bf"), evidence + _describe_change(_labels(other.before), _labels(other.after))

    return by_target(last, look)


def _describe_change(before: str, after: str) -> str:
    return "stays the same" if before == after else f"becomes `{after}`"


def _labels(text: str) -> str:
    """Return the order of dimensions that the first convolution of a module gives its input."""
    label = LABELS.search(text)
    return label[1] if label else "no convolution"


def tensor_cores() -> Finding:
    """Return the finding on the claim that a matmul of float32 matrices runs on the tensor cores of an NVIDIA GPU."""
    one = program("product", targets=("h100",))["h100"]
    code = "".join(piece.text for piece in one.code if piece.language == "ptx")
    instructions = sorted(set(MMA.findall(code)))
    expect(all("tf32" in name for name in instructions), "the inputs are read as TF32")
    by_vector = capture(jnp.matmul, product.EXAMPLE[0], vector(), target="h100")
    without = not any(MMA.search(piece.text) for piece in by_vector.code if piece.language == "ptx")
    expect(without, "a matrix-vector multiplication uses no tensor cores")
    return cases(
        {"h100": (bool(instructions), f"PTX contains `{instructions[0]}`" if instructions else "PTX contains no `mma`")}
    )


def systolic_array() -> Finding:
    """Return the finding on the claim that every matmul is mapped to the matrix unit on a TPU."""
    x, w = product.EXAMPLE
    batch = [jax.ShapeDtypeStruct((4, *shape.shape), shape.dtype) for shape in (x, w)]
    vectors = batch[0], jax.ShapeDtypeStruct((4, *vector().shape), x.dtype)
    outcomes = {}
    for name, (function, example, target) in {
        "matrix times matrix": (jnp.matmul, (x, w), "tpu-v5e"),
        "batched matrix times matrix": (jnp.matmul, batch, "tpu-v5e"),
        "matrix times vector": (jnp.matmul, (x, vector()), "tpu-v5e"),
        "batched matrix times vector": (jax.vmap(jnp.matmul), vectors, "tpu-v5e"),
        "matrix times vector, TPU7x": (jnp.matmul, (x, vector()), "tpu7x"),
    }.items():
        one = capture(function, *example, target=target)
        opcodes = one.module.opcode_counts()
        # Only a convolution runs on the matrix unit; the other opcodes show an alternative.
        inner = [name for name in ("convolution", "dot", "multiply", "reduce") if opcodes[name]]
        outcomes[name] = (inner == ["convolution"], f"becomes `{'` and `'.join(inner)}`")
    expect(
        outcomes["matrix times vector"][1] == "becomes `multiply` and `reduce`",
        "it becomes an element-wise multiplication and a reduction",
    )
    return cases(outcomes)


def vector() -> jax.ShapeDtypeStruct:
    """Return the shape of a vector that fits the left operand of the matmul."""
    return jax.ShapeDtypeStruct((product.EXAMPLE[0].shape[1],), jnp.float32)


def convolve_volumes(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """Return the convolution of `x` with `kernel` over three dimensions, with channels last."""
    return jax.lax.conv_general_dilated(x, kernel, (1, 1, 1), "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC"))
