"""Claims about layouts and about what hardware asks for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from claims.evidence import expect, pass_names, program
from claims.finding import Finding, by_target, cases

if TYPE_CHECKING:
    from xla_inspect import Capture

LABELS = re.compile(r"dim_labels=(\w+)_")


def layout_after_fusion() -> Finding:
    """Layouts are assigned after fusion."""

    def look(capture: Capture) -> tuple[bool, str]:
        names = pass_names(capture)
        fused = next(step.name for step in capture.passes if "fusion" in step.module.opcode_counts())
        layout, fusion = names.index("layout-assignment"), names.index(fused)
        return layout > fusion, f"`layout-assignment` is run {layout + 1}, `{fused}` run {fusion + 1}"

    return by_target(program("layer"), look)


def layouts_are_tiled() -> Finding:
    """A layout may be tiled."""

    def look(capture: Capture) -> tuple[bool, str]:
        root = str(capture.module.entry.root.shape)
        return "T(" in root, f"`{root}`"

    return by_target(program("layer"), look)


def to_channels_first() -> Finding:
    """Layout assignment turns NHWC convolutions into NCHW."""

    def look(capture: Capture) -> tuple[bool, str]:
        before, after = _labels(capture.before), _labels(capture.after)
        return after.startswith("bf"), f"the order of the input, `{before}`, {_went(before, after)}"

    return by_target(program("disputed", "convolution NHWC"), look)


def to_channels_first_on_gpu() -> Finding:
    """On a GPU, NHWC convolutions become NCHW."""
    last = program("disputed", "convolution NHWC")["h100"]
    first = program("disputed", "convolution NCHW", ("h100",))["h100"]
    expect(_labels(first.after).startswith("b01"), "the ledger says that NCHW becomes NHWC")
    after = _labels(last.after)
    found = f"NHWC, `{_labels(last.before)}`, {_went(_labels(last.before), after)}; "
    found += f"NCHW, `{_labels(first.before)}`, {_went(_labels(first.before), _labels(first.after))}"
    return cases({"h100": (after.startswith("bf"), found)})


def _went(before: str, after: str) -> str:
    return "stays as it is" if before == after else f"becomes `{after}`"


def _labels(text: str) -> str:
    """Return the order of dimensions that the first convolution of a module gives its input."""
    found = LABELS.search(text)
    return found[1] if found else "no convolution"


def tensor_cores() -> Finding:
    """A product of float32 matrices runs on the tensor cores of an NVIDIA GPU."""
    capture = program("product", targets=("h100",))["h100"]
    code = "".join(piece.text for piece in capture.code if piece.language == "ptx")
    found = sorted(set(re.findall(r"\b(?:wgmma\.mma_async|mma)\.sync\.[\w.]+", code)))
    return cases({"h100": (bool(found), f"PTX holds `{found[0]}`" if found else "PTX holds no `mma`")})


def systolic_array() -> Finding:
    """On a TPU a product is mapped to the matrix unit."""
    capture = program("product", targets=("tpu-v5e",))["tpu-v5e"]
    counts = capture.module.opcode_counts()
    by = next((step.name for step in capture.passes if "dot" not in step.module.opcode_counts()), "no pass")
    good = counts["convolution"] == 1 and not counts["dot"]
    return cases({"tpu-v5e": (good, f"the product becomes a `convolution`, by `{by}`")})
