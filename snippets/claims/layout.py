"""Claims about layouts and about what hardware asks for."""

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

LABELS = re.compile(r"dim_labels=(\w+)_")
MMA = re.compile(r"\b(?:wgmma\.mma_async|mma)\.sync\.[\w.]+")
VOLUMES = (jax.ShapeDtypeStruct((2, 8, 8, 8, 16), jnp.float32), jax.ShapeDtypeStruct((3, 3, 3, 16, 16), jnp.float32))


def layout_after_fusion() -> Finding:
    """Layouts are assigned after fusion."""
    fused_at, assigned_at = dict[str, int](), dict[str, int]()

    def look(capture: Capture) -> tuple[bool, str]:
        names = pass_names(capture)
        fused = next(step.name for step in capture.passes if "fusion" in step.module.opcode_counts())
        layout, fusion = names.index("layout-assignment"), names.index(fused)
        fused_at[capture.target], assigned_at[capture.target] = fusion + 1, layout + 1
        return layout > fusion, f"`layout-assignment` is run {layout + 1}, `{fused}` run {fusion + 1}"

    return by_target(program("layer"), look).compared("the run that assigns layouts", fused_at, assigned_at)


def layouts_are_tiled() -> Finding:
    """A layout may be tiled."""

    def look(capture: Capture) -> tuple[bool, str]:
        root = str(capture.module.entry.root.shape)
        return "T(" in root, f"`{root}`"

    return by_target(program("layer"), look)


def to_channels_first() -> Finding:
    """Layout assignment turns NHWC convolutions into NCHW."""
    last, first = (program("disputed", f"convolution {order}") for order in ("NHWC", "NCHW"))
    from_nhwc = [_labels(last[target].after) for target in last.targets]
    expect(from_nhwc == ["b01f"] * len(from_nhwc), "no target turns NHWC, at this size")
    turned = [_labels(first[target].after) for target in first.targets]
    expect(turned == ["b01f", "b01f", "bf01"], f"CPU and H100 turn NCHW and the TPU keeps it, and not {turned}")

    def look(capture: Capture) -> tuple[bool, str]:
        before, after = _labels(capture.before), _labels(capture.after)
        return after.startswith("bf"), f"the order of the input, `{before}`, {_went(before, after)}"

    return by_target(program("disputed", "convolution NHWC"), look)


def to_channels_first_on_gpu() -> Finding:
    """On a GPU, NHWC convolutions become NCHW."""
    last = program("disputed", "convolution NHWC")["h100"]
    first = program("disputed", "convolution NCHW", ("h100",))["h100"]
    expect(_labels(first.after).startswith("b01"), "the ledger says that NCHW becomes NHWC")
    deep = capture(convolve_volumes, *VOLUMES, target="h100")
    expect(_labels(deep.after) == "bf012", "over three dimensions the H100's compiler puts channels first")
    after = _labels(last.after)
    evidence = f"NHWC, `{_labels(last.before)}`, {_went(_labels(last.before), after)}; "
    evidence += f"NCHW, `{_labels(first.before)}`, {_went(_labels(first.before), _labels(first.after))}"
    return cases({"h100": (after.startswith("bf"), evidence)})


def _went(before: str, after: str) -> str:
    return "stays as it is" if before == after else f"becomes `{after}`"


def _labels(text: str) -> str:
    """Return the order of dimensions that the first convolution of a module gives its input."""
    label = LABELS.search(text)
    return label[1] if label else "no convolution"


def tensor_cores() -> Finding:
    """A matmul of float32 matrices runs on the tensor cores of an NVIDIA GPU."""
    one = program("product", targets=("h100",))["h100"]
    code = "".join(piece.text for piece in one.code if piece.language == "ptx")
    instructions = sorted(set(MMA.findall(code)))
    expect(all("tf32" in name for name in instructions), "the inputs are taken as TF32")
    by_vector = capture(jnp.matmul, product.EXAMPLE[0], vector(), target="h100")
    without = not any(MMA.search(piece.text) for piece in by_vector.code if piece.language == "ptx")
    expect(without, "a matrix times a vector does without tensor cores")
    return cases(
        {"h100": (bool(instructions), f"PTX holds `{instructions[0]}`" if instructions else "PTX holds no `mma`")}
    )


def systolic_array() -> Finding:
    """On a TPU every matmul is mapped to the matrix unit."""
    x, w = product.EXAMPLE
    batch = [jax.ShapeDtypeStruct((4, *shape.shape), shape.dtype) for shape in (x, w)]
    vectors = batch[0], jax.ShapeDtypeStruct((4, *vector().shape), x.dtype)
    outcomes = {}
    for name, (function, example, target) in {
        "a matrix with a matrix": (jnp.matmul, (x, w), "tpu-v5e"),
        "a batch of them": (jnp.matmul, batch, "tpu-v5e"),
        "a matrix with a vector": (jnp.matmul, (x, vector()), "tpu-v5e"),
        "a batch of these": (jax.vmap(jnp.matmul), vectors, "tpu-v5e"),
        "a matrix with a vector, TPU7x": (jnp.matmul, (x, vector()), "tpu7x"),
    }.items():
        one = capture(function, *example, target=target)
        opcodes = one.module.opcode_counts()
        inner = [name for name in ("convolution", "dot", "multiply", "reduce") if opcodes[name]]
        outcomes[name] = (inner == ["convolution"], f"becomes `{'` and `'.join(inner)}`")
    expect(
        outcomes["a matrix with a vector"][1] == "becomes `multiply` and `reduce`",
        "multiplications of elements and a reduction",
    )
    return cases(outcomes)


def vector() -> jax.ShapeDtypeStruct:
    """Return the shape of a vector that the left operand of the matmul can be multiplied with."""
    return jax.ShapeDtypeStruct((product.EXAMPLE[0].shape[1],), jnp.float32)


def convolve_volumes(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """A convolution over three dimensions, with channels last."""
    return jax.lax.conv_general_dilated(x, kernel, (1, 1, 1), "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC"))
