"""The picture of an explorer says what the capture holds, and is drawn of it alone."""

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


def texts(drawn: str) -> list[str]:
    return [unescape(text) for text in re.findall(r"<text [^>]*>([^<]*)</text>", drawn)]


@pytest.mark.parametrize("target", TARGETS)
def test_each_state_has_a_bar_as_high_as_its_instructions_are_many(captures: Captures, target: str) -> None:
    counts = [state.module.instruction_count() for state in follow_passes(captures[target])]
    strip = poster.draw_poster(captures[target]).split("</svg>")[0]
    heights = [float(height) for height in re.findall(r'<rect [^>]*height="([\d.]+)"', strip)]
    assert len(heights) == len(counts)
    most = max(counts)
    assert heights == pytest.approx([max(heights) * each / most for each in counts], abs=0.1)
    assert f"{counts[0]} instructions" in texts(strip)
    assert f"{counts[-1]} after the last pass" in texts(strip)


@pytest.mark.parametrize("target", TARGETS)
def test_the_pass_that_it_opens_at_is_marked_with_what_it_did(captures: Captures, target: str) -> None:
    name = poster.choose_pass(captures[target])
    state = next(state for state in follow_passes(captures[target]) if state.name == name)
    strip, rows, _ = poster.draw_poster(captures[target], "passes", name).split("</svg>")
    assert strip.count('class="chosen"/>') == 1
    assert name in texts(strip)
    assert state.change is not None
    assert unescape(re.findall(r'aria-label="([^"]*)"', rows)[0]) == f"What {name} did: {state.change.summary}."
    marks = {text[0] for text in texts(rows)[1:]}
    assert marks <= {"+", "-", "~"}
    assert len(marks) >= bool(state.change.added) + bool(state.change.removed)


def test_what_it_is_of_is_said_for_who_cannot_see_it(captures: Captures) -> None:
    found = captures["h100"]
    said = re.findall(r'aria-label="([^"]*)"', poster.draw_poster(found))[0]
    kernels = len(list_kernels(found))
    assert said.startswith(f"layer on NVIDIA H100: {len(found.pass_names)} passes that changed it")
    assert f"{kernels} kernel" in said


def test_the_kernels_stand_in_the_order_in_which_they_run(captures: Captures) -> None:
    drawn = poster.draw_poster(captures["h100"], "kernels")
    names = [launch.name for launch in list_kernels(captures["h100"])][: poster.ROWS]
    listed = texts(drawn.split("</svg>")[1])[1:]
    assert [re.split(r"[ :]", text)[1] for text in listed] == names


def test_the_memory_plan_reaches_as_high_as_the_peak(captures: Captures) -> None:
    found = captures["h100"]
    rows = place_buffers(parse_buffers(found.buffers), parse_live_ranges(found.live_ranges))
    _, most = find_peak(row for row in rows if row.kind != "thread-local")
    assert f"at most {format_bytes(most)} live" in texts(poster.draw_poster(found, "buffers"))


@pytest.mark.parametrize("view", ["passes", "graph", "buffers", "jaxpr"])
def test_a_picture_is_whole_and_its_text_fits(captures: Captures, view: str) -> None:
    drawn = poster.draw_poster(captures["tpu-v5e"], view, poster.choose_pass(captures["tpu-v5e"]))
    assert len(ET.fromstring(f"<p>{drawn}</p>")) == 2  # noqa: S314 - made here
    assert max(map(len, texts(drawn))) <= poster.LONGEST
