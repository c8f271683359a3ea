"""The drawing of a sequence of launches."""

from __future__ import annotations

import re

import pytest

from chapters.run_strips import StripBox, draw_strips

KINDS = {"kernel": "a kernel of the framework", "launch": "a launch of XLA"}
ROWS = {
    "eager": [StripBox("MatMul", "kernel"), StripBox("Relu<1>", "kernel")],
    "compiled": [StripBox("fusion", "launch")],
    "nothing": [],
}
DRAWN = draw_strips(ROWS, KINDS, "a & b")


def test_a_row_says_how_many_boxes_it_has() -> None:
    assert re.findall(r"<dt>(\w+) <span>(\d+)</span>", DRAWN) == [("eager", "2"), ("compiled", "1"), ("nothing", "0")]


def test_boxes_stand_in_order_each_with_the_look_of_its_kind() -> None:
    boxes = re.findall(r'<li class="(\w)"><code>(.*?)</code>', DRAWN)
    assert boxes == [("a", "MatMul"), ("a", "Relu&lt;1&gt;"), ("b", "fusion")]


def test_every_look_is_explained() -> None:
    key = re.search(r"<ul.*?</ul>", DRAWN)
    assert key
    assert re.findall(r'<li class="(\w)">(.*?)</li>', key[0]) == [
        ("a", "a kernel of the framework"),
        ("b", "a launch of XLA"),
    ]


def test_a_box_of_an_unknown_kind_is_rejected_by_name() -> None:
    with pytest.raises(ValueError, match="unknown kind of box: other; the kinds are kernel, launch"):
        draw_strips({"row": [StripBox("x", "other")]}, KINDS, "")


def test_a_fourth_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="has three styles, too few for 4 kinds: a, b, c, d"):
        draw_strips({}, dict.fromkeys("abcd", ""), "")
