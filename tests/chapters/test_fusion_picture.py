"""The picture of a fusion: its operations and its hero."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from chapters.fusion_picture import FusionStep, arrange_drawings, draw_fusion, list_fusion_steps
from programs import fusible
from xla_inspect import capture
from xla_inspect.analysis import list_kernels
from xla_inspect.hlo import parse_module

if TYPE_CHECKING:
    from xla_inspect.captured import Captures

NESTED = """\
HloModule m

%inner (p: f32[4]) -> (f32[4], f32[4]) {
  %p = f32[4]{0} parameter(0)
  %e = f32[4]{0} exponential(%p)
  ROOT %t = (f32[4]{0}, f32[4]{0}) tuple(%e, %p)
}

%outer (q: f32[4]) -> f32[4] {
  %q = f32[4]{0} parameter(0)
  %c = f32[] constant(2)
  %w = f32[4]{0} broadcast(%c), dimensions={}
  %f = (f32[4]{0}, f32[4]{0}) fusion(%q), kind=kLoop, calls=%inner
  %g = f32[4]{0} get-tuple-element(%f), index=0
  ROOT %m = f32[4]{0} multiply(%g, %w)
}

ENTRY %main (x: f32[4]) -> f32[4] {
  %x = f32[4]{0} parameter(0), metadata={op_name="data"}
  %b = f32[4]{0} bitcast(%x)
  ROOT %o = f32[4]{0} fusion(%b), kind=kLoop, calls=%outer
}
"""


def test_nested_fusions_are_opened_and_renaming_is_left_out() -> None:
    module = parse_module(NESTED)
    assert list_fusion_steps(module, module.entry.root) == (
        FusionStep("exponential", (), ("data",)),
        FusionStep("multiply", (0,), ("2",)),
    )


@pytest.mark.parametrize(
    ("target", "centres"), [("cpu", []), ("h100", ["reduce"]), ("tpu-v5e", [])], ids=["ynn", "kInput", "kLoop"]
)
def test_only_a_fusion_that_is_built_around_an_operation_has_a_centre(target: str, centres: list[str]) -> None:
    function, example = fusible.PROGRAMS["scale and sum rows"]
    program = capture(function, *example, target=target)
    (kernel,) = list_kernels(program)
    drawing = ET.fromstring(draw_fusion(program, kernel.name, "sum(x * scale)").replace("<br>", "<br/>"))  # noqa: S314 - our own
    boxes = list(drawing.iter())
    marked = [boxes[number + 1].text for number, box in enumerate(boxes) if box.get("class") == "centre"]
    assert marked == centres


def test_a_drawing_has_a_text_description(captures: Captures) -> None:
    drawing = arrange_drawings(draw_fusion(captures["tpu-v5e"], "fusion", "relu(x @ w + b)"))
    assert 'aria-label="kOutput on TPU v5e: convolution, add, maximum"' in drawing
    assert "f32[64,256]" in drawing
