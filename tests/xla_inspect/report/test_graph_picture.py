"""The picture of a computation is complete, deterministic and escaped."""

from __future__ import annotations

import html
import itertools
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from programs import transformer_block_grad
from xla_inspect import capture_all
from xla_inspect.hlo import parse_module
from xla_inspect.report import graph_picture

if TYPE_CHECKING:
    from xla_inspect.captured import Captures

HOSTILE = """HloModule hostile, is_scheduled=true

ENTRY %main (x: f32[4]) -> (f32[4], f32[4]) {
  %x = f32[4]{0} parameter(0), metadata={op_name="<img src=x onerror=alert(1)>"}
  %c = f32[4]{0} custom-call(%x), custom_call_target="</svg><script>alert(2)</script>"
  %n = f32[4]{0} negate(%c)
  ROOT %t = (f32[4]{0}, f32[4]{0}) tuple(%n, %c)
}
"""


def boxes(picture: str) -> list[str]:
    """Return the tooltip of each box, in order."""
    return [html.unescape(text) for text in re.findall(r"<g [^>]*><title>(.*?)</title>", picture, re.DOTALL)]


def test_a_box_lists_its_instruction_fused_opcodes_and_inputs(captures: Captures) -> None:
    output = graph_picture.draw_entry(captures["h100"])
    assert boxes(output) == [
        (
            "gemm_fusion_dot = f32[4,64,256] fusion\nkCustom __triton_nested_gemm_fusion: dot\n"
            "reads x 32 KiB, w 128 KiB\nmakes f32[4,64,256] 256 KiB"
        ),
        (
            "loop_maximum_fusion = f32[64,256] fusion\nkLoop: constant, reduce, broadcast, add, broadcast, maximum\n"
            "reads b 1 KiB\nmakes f32[64,256] 64 KiB"
        ),
    ]


def test_the_end_of_a_copy_is_folded_into_its_start(captures: Captures) -> None:
    message = boxes(graph_picture.draw_entry(captures["tpu-v5e"]))
    assert [text.partition(" ")[0] for text in message] == ["copy-start", "fusion"]
    assert message[0].endswith("reads w 128 KiB\nmakes f32[128,256] 128 KiB")


def test_a_picture_is_deterministic() -> None:
    """The largest program of the pages: rows are full and edges pass many of them."""
    for capture in capture_all(transformer_block_grad.transformer_block_grad, *transformer_block_grad.EXAMPLE).values():
        assert graph_picture.draw_entry(capture) == graph_picture.draw_entry(capture)


def test_boxes_of_one_row_do_not_cover_each_other() -> None:
    for capture in capture_all(transformer_block_grad.transformer_block_grad, *transformer_block_grad.EXAMPLE).values():
        output = graph_picture.draw_entry(capture)
        width = float(re.findall(r'viewBox="0 0 (\d+)', output)[0])
        assert width == graph_picture.WIDTH, "a phone shows it without shrinking its text"
        rows: dict[str, list[tuple[float, float]]] = {}
        for x, y, wide in re.findall(r'<rect x="([-\d.]+)" y="([\d.]+)" width="([\d.]+)"', output):
            rows.setdefault(y, []).append((float(x), float(x) + float(wide)))
        for row in map(sorted, rows.values()):
            assert row[0][0] >= 0
            assert row[-1][1] <= width
            assert [pair for pair in itertools.pairwise(row) if pair[0][1] > pair[1][0]] == []


def test_html_in_hlo_is_shown_as_text(captures: Captures) -> None:
    module = parse_module(HOSTILE)
    assert [
        tag
        for tag in ("<img", "<script", "</svg></script")
        if tag in graph_picture.draw_computation(module.entry, module)
    ] == []
    names = graph_picture.draw_entry(replace(captures["cpu"], program="<i>f</i>", after=HOSTILE))
    assert "<i>" not in names
    assert names.count("<text") == names.count("</text>")


def test_results_of_a_computation_are_marked(captures: Captures) -> None:
    module = parse_module(HOSTILE)
    assert graph_picture.draw_computation(module.entry, module).count(' result"><title>') == 2
    assert graph_picture.draw_entry(captures["cpu"]).count(' result"><title>') == 1


def test_a_computation_without_work_has_a_caption_and_no_drawing() -> None:
    module = parse_module("HloModule m\n\nENTRY %e (x: f32[4]) -> f32[4] {\n  ROOT %x = f32[4]{0} parameter(0)\n}\n")
    output = graph_picture.draw_computation(module.entry, module)
    assert "<svg" not in output
    assert "e: 0 boxes; 1 instruction without work is folded" in output
