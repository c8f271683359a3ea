"""Two panes of the explorer in a browser: matching, scrolling, links, and saved texts and pictures."""

from __future__ import annotations

import base64
import itertools
import re
from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from xla_inspect.analysis import follow_passes
from xla_inspect.commands import report
from xla_inspect.jax_private import parse_hlo
from xla_inspect.report.explorer import write_report

from .test_access import judge
from .waiting import wait_for_rest, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Locator, Page

    from xla_inspect import Captures

    from .conftest import Opened, Show

INSIDE = "document.querySelector('#explorer').shadowRoot"
BOTH = "x=report&target=h100&view=after&target2=tpu-v5e&view2=after"

# The width of a picture, and how many colours it has.
LOOK = """async text => {
  const bytes = Uint8Array.from(atob(text), it => it.charCodeAt(0))
  const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }))
  const pen = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d")
  pen.drawImage(bitmap, 0, 0)
  return [bitmap.width, new Set(new Uint32Array(pen.getImageData(0, 0, bitmap.width, bitmap.height).data.buffer)).size]
}"""

pytestmark = pytest.mark.usefixtures("all_targets")


def side(opened: Opened, number: int) -> Locator:
    """Return the first pane (0) or the second (1)."""
    return opened.page.locator(".side").nth(number)


def compare(opened: Opened) -> None:
    """Open the second pane."""
    opened.page.get_by_role("button", name="Compare").click()
    side(opened, 1).locator(".pane > *").first.wait_for()


def take(opened: Opened, entry: str) -> tuple[str, bytes]:
    """Save what an entry of the menu makes, and return its name and content."""
    opened.page.get_by_text("Save or copy").click()
    with opened.page.expect_download() as saved:
        opened.page.locator(".takeaway button", has_text=entry).click()
    return saved.value.suggested_filename, saved.value.path().read_bytes()


def test_the_second_pane_shows_the_next_target_at_its_own_fusion(show: Show, layer: Captures) -> None:
    opened = show(layer, "x=report&target=h100&view=passes&pass=0")
    compare(opened)
    assert side(opened, 1).locator('select[name="target"]').input_value() == "tpu-v5e"
    for number in (0, 1):
        assert "fus" in side(opened, number).locator(".what b").inner_text()
    assert "target2=tpu-v5e" in opened.page.url
    opened.page.get_by_role("button", name="Compare").click()
    assert opened.page.locator(".side").count() == 1
    assert "target2" not in opened.page.url


def test_a_link_leads_to_both_panes(show: Show, layer: Captures) -> None:
    opened = show(layer, "x=report&target=h100&view=passes&pass=1&target2=cpu&view2=before")
    side(opened, 1).locator(".line").first.wait_for()
    pane_texts = [side(opened, number).locator(".pane").inner_text() for number in (0, 1)]
    side(opened, 1).locator('select[name="view"]').select_option("after")
    wait_until(opened.page, "location.hash.includes('view2=after')")
    opened.page.go_back()
    wait_until(opened.page, "location.hash.includes('view2=before')")
    opened.settle()
    wait_until(opened.page, f"{INSIDE}.querySelectorAll('.side .pane')[1].classList.contains('before')")
    assert [side(opened, number).locator(".pane").inner_text() for number in (0, 1)] == pane_texts


def test_matched_instructions_are_chosen_together_with_their_share(show: Show, layer: Captures) -> None:
    opened = show(layer, "x=report&target=h100&view=before&target2=tpu-v5e&view2=before")
    matched = opened.page.locator(".matched")
    matched.get_by_text("matched").wait_for()
    first = next(follow_passes(layer["h100"])).module
    # Both compilers get the same program: every instruction of one has its like in the other.
    count = first.instruction_count()
    assert matched.inner_text() == f"100% matched: {count} of {count} and {count} instructions"
    line = side(opened, 0).locator(".pane button.line", has_text="dot(").first
    line.click()
    twin = side(opened, 1).locator(".pane .line.chosen")
    twin.wait_for()
    assert "dot(" in twin.inner_text()
    side(opened, 1).locator(".pane button.line", has_text="parameter(0)").first.click()
    wait_until(opened.page, f"/parameter.0/.test({INSIDE}.querySelector('.side .chosen')?.textContent)")


def test_panes_scroll_together(show: Show, block: Captures) -> None:
    opened = show(block, "x=report&target=h100&view=before&target2=tpu-v5e&view2=before")
    opened.page.locator(".matched").get_by_text("matched").wait_for()
    opened.settle()
    opened.page.evaluate(f"{INSIDE}.querySelector('.side .pane').scrollTop = 600")
    wait_until(opened.page, f"{INSIDE}.querySelectorAll('.side .pane')[1].scrollTop > 300")
    tops = opened.page.evaluate(f"[...{INSIDE}.querySelectorAll('.side .pane')].map(it => it.scrollTop)")
    wait_for_rest(opened.page)
    # What was scrolled to does not scroll back.
    assert opened.page.evaluate(f"[...{INSIDE}.querySelectorAll('.side .pane')].map(it => it.scrollTop)") == tops


def test_a_saved_capture_is_shown_next_to_the_program(layer: Captures, show: Show, tmp_path: Path) -> None:
    saved = tmp_path / "old.json"
    saved.write_text(replace(layer["h100"], program="before").to_json(), encoding="utf-8")
    beside = report.read_beside([str(saved)])
    assert list(beside) == ["before (old.json)"]
    opened = show(layer)
    path = tmp_path / "beside.html"
    path.write_text(write_report(layer, beside=beside), encoding="utf-8")
    opened.page.goto(path.as_uri())
    second = side(opened, 1).locator('select[name="program"]')
    second.wait_for()
    assert second.evaluate("it => it.selectedOptions[0].textContent") == "before (old.json)"
    opened.page.get_by_role("button", name="Compare").click()
    opened.page.locator('.bar select[name="program"]').select_option("before (old.json)")
    wait_until(opened.page, "location.hash.includes('old.json')")


def test_passes_are_stepped_by_buttons_and_keys_and_played(show: Show, layer: Captures) -> None:
    opened = show(layer, "x=report&target=h100&view=passes&pass=0")
    chosen = opened.page.locator('[aria-selected="true"]')
    opened.page.get_by_role("button", name="Next pass").click()
    assert chosen.get_attribute("data-pass") == "1"
    opened.page.keyboard.press("]")
    wait_until(opened.page, f"{INSIDE}.querySelector('[aria-selected=true]').dataset.pass === '2'")
    opened.page.keyboard.press("[")
    wait_until(opened.page, f"{INSIDE}.querySelector('[aria-selected=true]').dataset.pass === '1'")
    opened.page.get_by_label("Speed").select_option("200")
    opened.page.clock.install()
    opened.page.get_by_role("button", name="Play").click()
    wait_until(opened.page, f"Number({INSIDE}.querySelector('[aria-selected=true]').dataset.pass) >= 3")
    opened.page.get_by_role("button", name="Pause").click()
    stopped = chosen.get_attribute("data-pass")
    opened.page.clock.run_for(1000)
    assert chosen.get_attribute("data-pass") == stopped


def test_reduced_motion_disables_playing(show: Show, layer: Captures) -> None:
    opened = show(layer, "x=report&target=h100", reduced_motion="reduce")
    opened.page.get_by_role("button", name="Next pass").wait_for()
    assert not opened.page.get_by_role("button", name="Play").is_visible()


def test_enter_goes_to_the_found_pass_and_a_question_mark_lists_the_keys(show: Show, layer: Captures) -> None:
    opened = show(layer, "x=report&target=h100&view=passes&pass=0")
    search_box = opened.page.get_by_role("searchbox")
    search_box.fill("fusion")
    search_box.press("Enter")
    opened.page.locator('[aria-selected="true"]', has_text="fus").wait_for()
    opened.page.get_by_role("listbox").press("?")
    opened.page.get_by_role("dialog").get_by_text("find a pass").wait_for()
    opened.page.keyboard.press("Escape")
    assert not opened.page.get_by_role("dialog").is_visible()


def test_the_source_starts_at_the_function_and_the_rest_is_folded(show: Show, layer: Captures) -> None:
    opened = show(layer)
    lines = layer["cpu"].source.splitlines()
    start = next(number for number, text in enumerate(lines, 1) if text.startswith("def layer"))
    assert opened.page.locator(".source li[data-number]:visible").first.get_attribute("data-number") == str(start)
    # No blank line stands alone before a fold.
    assert opened.page.locator(".source li[data-number]:visible").last.inner_text().strip()
    opened.page.locator(".source .fold button").first.click()
    assert opened.page.locator(".source li[data-number]:visible").first.get_attribute("data-number") == "1"


def test_borders_are_moved_by_pointer_and_by_keys_and_remembered(show: Show, layer: Captures) -> None:
    opened = show(layer, BOTH)
    for name, part in (("Width of the source", ".source"), ("Width of the first pane", ".side")):
        grip = opened.page.get_by_role("separator", name=name)
        before = opened.page.locator(part).first.bounding_box()
        grip.focus()
        grip.press("ArrowRight")
        grip.press("ArrowRight")
        after = opened.page.locator(part).first.bounding_box()
        assert before is not None
        assert after is not None
        assert after["width"] > before["width"] + 10
        place = grip.bounding_box()
        assert place is not None
        opened.page.mouse.move(place["x"] + 8, place["y"] + 50)
        opened.page.mouse.down()
        opened.page.mouse.move(place["x"] - 72, place["y"] + 50, steps=4)
        opened.page.mouse.up()
        dragged = opened.page.locator(part).first.bounding_box()
        assert dragged is not None
        assert abs(after["width"] - 80 - dragged["width"]) < 12
        assert 12 <= int(grip.get_attribute("aria-valuenow") or "0") <= 88
    widths = [opened.page.locator(part).first.bounding_box() for part in (".source", ".side")]
    opened.page.reload()
    side(opened, 1).locator(".line").first.wait_for()
    again = [opened.page.locator(part).first.bounding_box() for part in (".source", ".side")]
    assert all(abs(old["width"] - new["width"]) < 2 for old, new in zip(widths, again, strict=True) if old and new)


def test_the_saved_text_is_the_shown_module(show: Show, layer: Captures) -> None:
    states = list(follow_passes(layer["h100"]))
    number = next(at for at, state in enumerate(states) if "fusion" in (state.name or ""))
    opened = show(layer, f"x=report&target=h100&view=passes&pass={number}")
    name, text = take(opened, "Download this text")
    assert name == f"layer.h100.{number:03}-{states[number].name}.txt"
    module = parse_hlo(text.decode())
    for instruction in states[number].module.entry:
        assert f"{instruction.name} = " in module


@pytest.mark.parametrize("width", [1280, 390])
def test_saved_pictures_match_the_view(show: Show, layer: Captures, width: int) -> None:
    opened = show(layer, "x=report&target=h100&view=after", viewport={"width": width, "height": 900})
    name, svg = take(opened, "SVG")
    assert name == "layer.h100.after.svg"
    root = ET.fromstring(svg)  # noqa: S314 - the explorer wrote it
    svg_text = " ".join("".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text"))
    assert "fusion" in svg_text
    assert "return" in svg_text
    assert "http" not in svg.decode().replace("http://www.w3.org/2000/svg", "")
    name, png = take(opened, "PNG")
    assert name == "layer.h100.after.png"
    wide, colours = opened.page.evaluate(LOOK, base64.b64encode(png).decode())
    assert colours > 20
    box = opened.page.locator(".panes").bounding_box()
    assert box is not None
    assert abs(wide - 2 * box["width"]) <= 2


def test_the_copied_command_names_both_targets(show: Show, layer: Captures) -> None:
    opened = show(layer, BOTH)
    side(opened, 1).locator(".line").first.wait_for()
    opened.page.get_by_text("Save or copy").click()
    opened.page.locator(".takeaway button", has_text="command").click()
    opened.page.locator(
        ".status", has_text="xla-inspect report FILE.py:FUNCTION --target h100 --target tpu-v5e"
    ).wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_no_violation_in_two_panes(show: Show, layer: Captures, scheme: str, width: int) -> None:
    link = "x=report&target=h100&view=passes&pass=fusion&target2=tpu-v5e&view2=graph"
    opened = show(layer, link, color_scheme=scheme, viewport={"width": width, "height": 900})
    side(opened, 1).locator(".box").first.wait_for()
    side(opened, 0).locator(".pane button.line").first.click()
    assert judge(opened.page, "html") == []
    assert fits(opened.page)
    rows = opened.page.evaluate(f"""() => new Set([...{INSIDE}.querySelectorAll('.bar > :not([hidden]), .head > *')]
      .filter(it => it.checkVisibility() && it.getBoundingClientRect().height)
      .map(it => Math.round(it.getBoundingClientRect().top / 14))).size""")
    assert width == 390 or rows <= 3


def fits(page: Page) -> bool:
    """Return whether no element overflows the window, except in the scrolling rows of the toolbar."""
    fixed = "it => it.closest('.choice, .options') || it.getBoundingClientRect().right <= innerWidth + 1"
    inside = f"[...{INSIDE}.querySelectorAll('.bar, .bar *')].every({fixed})"
    return bool(page.evaluate(f"document.documentElement.scrollWidth <= innerWidth && {inside}"))


@pytest.mark.parametrize("width", [390, 1280])
def test_each_switch_has_its_label_next_to_its_box(show: Show, layer: Captures, width: int) -> None:
    opened = show(layer, "x=report&view=passes&pass=fusion", viewport={"width": width, "height": 800})
    labels = f"[...{INSIDE}.querySelectorAll('.options label')].filter(it => it.checkVisibility())"
    heights = opened.page.evaluate(f"{labels}.map(it => it.offsetHeight)")
    assert len(heights) > 1
    assert set(heights) == {24}


def test_colours_of_lines_are_neither_red_nor_green_and_neighbours_differ(show: Show, block: Captures) -> None:
    opened = show(block)
    colours = opened.page.evaluate(
        f"[...{INSIDE}.querySelectorAll('.source button.line')].map(it => getComputedStyle(it).borderLeftColor)"
    )
    assert len(set(colours)) > 3
    assert [one for one, other in itertools.pairwise(colours) if one == other] == []
    for colour in set(colours):
        red, green, blue = map(int, re.findall(r"\d+", colour)[:3])
        assert not (red > 1.6 * max(green, blue)), colour
        assert not (green > 1.3 * max(red, blue)), colour
