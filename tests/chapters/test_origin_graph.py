"""The graph of launches: a box for each launch with its operations, and bytes on the arrows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from chapters.operation_marks import find_marks
from chapters.origin_graph import WIDTH, draw_origins
from programs import layernorm, softmax
from xla_inspect import capture_all
from xla_inspect.analysis import list_launches

if TYPE_CHECKING:
    from xla_inspect.captured import Captures


@pytest.fixture(scope="module")
def one() -> Captures:
    return capture_all(softmax.softmax, *softmax.EXAMPLE)


def draw(captures: Captures, target: str) -> ET.Element:
    """Return the drawing of the launches of a target, as parsed SVG."""
    picture = draw_origins(captures[target], find_marks(captures), "all of it")
    return ET.fromstring(re.sub(r"^.*?(<svg.*</svg>).*$", r"\1", picture, flags=re.DOTALL))  # noqa: S314 - our own


def boxes(picture: ET.Element) -> dict[str, list[tuple[str, str]]]:
    """Return the boxes by name, each with its opcodes and the numbers of the operations they came from."""
    boxes = {}
    for box in picture.iter("g"):
        if box.get("class") == "launch":
            [name] = [text.text or "" for text in box.findall("text") if text.get("class") != "made"]
            boxes[name] = [(chip.findtext("text") or "", chip.get("data-of") or "") for chip in box.findall("g")]
    return boxes


@pytest.mark.usefixtures("all_targets")
def test_each_launch_is_a_box_with_its_operations(one: Captures) -> None:
    assert boxes(draw(one, "cpu")) == {
        "ynn_fusion.1": [("reduce", "3"), ("subtract", "2"), ("exponential", "1")],
        "ynn_fusion": [("reduce", "5")],
        "broadcast_divide_fusion": [("divide", "4")],
        "broadcast_multiply_fusion": [("multiply", "4")],
    }
    for target, capture in one.items():
        assert len(boxes(draw(one, target))) == len(list_launches(capture))


@pytest.mark.usefixtures("all_targets")
def test_an_instruction_added_by_the_compiler_has_no_operation(one: Captures) -> None:
    assert boxes(draw(one, "tpu-v5e"))["copy-start"] == []


@pytest.mark.usefixtures("all_targets")
def test_bytes_are_below_each_box(one: Captures) -> None:
    made_texts = [text.text for text in draw(one, "cpu").iter("text") if text.get("class") == "made"]
    assert made_texts == ["512 KiB", "512 B", "512 B", "512 KiB"]


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("module", [softmax, layernorm])
def test_boxes_stay_inside_the_picture_without_overlaps(module: object) -> None:
    function = getattr(module, module.__name__.rpartition(".")[2])  # type: ignore[attr-defined]
    captures = capture_all(function, *module.EXAMPLE)  # type: ignore[attr-defined]
    for target in captures:
        rectangles = [
            tuple(float(rect.get(name) or 0) for name in ("x", "y", "width", "height"))
            for box in draw(captures, target).iter("g")
            if box.get("class") == "launch" and (rect := box.find("rect")) is not None
        ]
        assert all(x >= 0 and x + width <= WIDTH for x, _, width, _ in rectangles)
        for number, (x, y, width, height) in enumerate(rectangles):
            for other, above, wide, high in rectangles[number + 1 :]:
                apart = x + width <= other or other + wide <= x or y + height <= above or above + high <= y
                assert apart, target


@pytest.mark.usefixtures("all_targets")
def test_a_box_has_a_text_description(one: Captures) -> None:
    labels = [box.get("aria-label") for box in draw(one, "h100").iter("g") if box.get("class") == "launch"]
    assert labels == ["triton_softmax.2: reduce, subtract, exponential, reduce, divide; makes 512 KiB"]
