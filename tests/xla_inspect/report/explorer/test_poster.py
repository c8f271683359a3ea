"""The picture of an explorer agrees with its capture."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html import unescape
from typing import TYPE_CHECKING

import pytest

from xla_inspect.analysis import find_peak, follow_passes, list_kernels, parse_buffers, parse_live_ranges, place_buffers
from xla_inspect.report import format_bytes
from xla_inspect.report.explorer import poster

if TYPE_CHECKING:
    from xla_inspect import Captures

pytestmark = pytest.mark.usefixtures("all_targets")
TARGETS = ("cpu", "h100", "tpu-v5e")


def texts(drawing: str) -> list[str]:
    return [unescape(text) for text in re.findall(r"<text [^>]*>([^<]*)</text>", drawing)]


@pytest.mark.parametrize("target", TARGETS)
def test_the_height_of_each_bar_is_proportional_to_instructions(captures: Captures, target: str) -> None:
    counts = [state.module.instruction_count() for state in follow_passes(captures[target])]
    strip = poster.draw_poster(captures[target]).split("</svg>")[0]
    heights = [float(height) for height in re.findall(r'<rect [^>]*height="([\d.]+)"', strip)]
    assert len(heights) == len(counts)
    most = max(counts)
    assert heights == pytest.approx([max(heights) * item / most for item in counts], abs=0.1)
    assert f"{counts[0]} instructions" in texts(strip)
    assert f"{counts[-1]} after the last pass" in texts(strip)


@pytest.mark.parametrize("target", TARGETS)
def test_the_chosen_pass_is_marked_and_its_changes_are_shown(captures: Captures, target: str) -> None:
    name = poster.choose_pass(captures[target])
    state = next(state for state in follow_passes(captures[target]) if state.name == name)
    strip, rows, _ = poster.draw_poster(captures[target], "passes", name).split("</svg>")
    assert strip.count('class="chosen"/>') == 1
    assert name in texts(strip)
    assert state.change is not None
    assert unescape(re.findall(r'aria-label="([^"]*)"', rows)[0]) == f"Changes by {name}: {state.change.summary}."
    marks = {text[0] for text in texts(rows)[1:]}
    assert marks <= {"+", "-", "~"}
    assert len(marks) >= bool(state.change.added) + bool(state.change.removed)


def test_the_picture_has_a_label(captures: Captures) -> None:
    result = captures["h100"]
    text = re.findall(r'aria-label="([^"]*)"', poster.draw_poster(result))[0]
    kernels = len(list_kernels(result))
    assert text.startswith(f"layer on NVIDIA H100: {len(result.pass_names)} passes changed the module")
    assert f"{kernels} kernel" in text


def test_the_kernels_are_in_launch_order(captures: Captures) -> None:
    drawing = poster.draw_poster(captures["h100"], "kernels")
    names = [launch.name for launch in list_kernels(captures["h100"])][: poster.ROWS]
    listed = texts(drawing.split("</svg>")[1])[1:]
    assert [re.split(r"[ :]", text)[1] for text in listed] == names


def test_the_memory_plan_reaches_as_high_as_the_peak(captures: Captures) -> None:
    result = captures["h100"]
    rows = place_buffers(parse_buffers(result.buffers), parse_live_ranges(result.live_ranges))
    _, most = find_peak(row for row in rows if row.kind != "thread-local")
    assert f"at most {format_bytes(most)} live" in texts(poster.draw_poster(result, "buffers"))


@pytest.mark.parametrize("view", ["passes", "graph", "buffers", "jaxpr"])
def test_a_picture_is_whole_and_its_text_fits(captures: Captures, view: str) -> None:
    drawing = poster.draw_poster(captures["tpu-v5e"], view, poster.choose_pass(captures["tpu-v5e"]))
    assert len(ET.fromstring(f"<p>{drawing}</p>")) == 2  # noqa: S314 - made here
    assert max(map(len, texts(drawing))) <= poster.LONGEST
