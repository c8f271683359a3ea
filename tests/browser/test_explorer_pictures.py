"""The explorer's pictures in a browser: they fill their panes without overlaps, and zoom works."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest

from programs import gallery
from xla_inspect import capture_all

if TYPE_CHECKING:
    from xla_inspect import Captures

    from .conftest import Opened, Show

TARGETS = ("cpu", "h100", "tpu-v5e")
VIEWS = ("graph", "kernels", "buffers")

# What is seen of each text of the view: boxes of its lines, cut where something around it cuts them.
MEASURE = """
const pane = root.querySelector('.pane');
const seen = [], cut = [];
const walker = document.createTreeWalker(pane, NodeFilter.SHOW_TEXT);
for (let node = walker.nextNode(); node; node = walker.nextNode()) {
  const around = node.parentElement;
  if (!node.textContent.trim() || !around.checkVisibility({ visibilityProperty: true })) continue;
  if (around.closest('.hidden, title, pre')) continue;
  const mayBeCut = around.closest('.value');
  const range = document.createRange();
  range.selectNodeContents(node);
  for (const box of range.getClientRects()) {
    if (box.width < 1) continue;
    let [left, right] = [box.left + .6, box.right - .6];
    let [top, bottom] = [box.top + box.height / 4, box.bottom - box.height / 4];
    if (!mayBeCut && (box.left < -1 || box.right > innerWidth + 1)) cut.push(node.textContent);
    for (let it = around; it && it !== pane; it = it.parentElement) {
      const style = getComputedStyle(it);
      if (style.overflowX === 'visible' || it instanceof SVGElement) continue;
      const edge = it.getBoundingClientRect();
      if (!mayBeCut && style.overflowX === 'hidden' && box.right > edge.right + 1) cut.push(node.textContent);
      [left, right] = [Math.max(left, edge.left), Math.min(right, edge.right)];
      [top, bottom] = [Math.max(top, edge.top), Math.min(bottom, edge.bottom)];
    }
    if (right > left && bottom > top) seen.push({ node, text: node.textContent, left, right, top, bottom });
  }
}
seen.sort((a, b) => a.top - b.top);
const over = [];
seen.forEach((a, at) => {
  for (const b of seen.slice(at + 1)) {
    if (b.top >= a.bottom) break;
    if (a.node !== b.node && a.left < b.right && b.left < a.right) over.push([a.text, b.text]);
  }
});
const parts = [...root.querySelectorAll('.pane, .window')];
const wide = parts.filter((it) => it.scrollWidth > it.clientWidth + 1).map((it) => it.className);
return { texts: seen.length, over, cut, wide, page: document.documentElement.scrollWidth > innerWidth };
"""

pytestmark = pytest.mark.usefixtures("all_targets")


def compile_piece(name: str) -> Captures:
    """Return the captures of a program of the gallery for the usual targets."""
    piece = gallery.PROGRAMS[name]
    return capture_all(piece.function, *piece.example, targets=piece.name_targets(TARGETS), **piece.arguments)


def open_graph(show: Show, name: str, target: str, **options: object) -> Opened:
    """Open the graph of a program of the gallery, and wait until it is laid out."""
    opened = show(compile_piece(name), f"x=report&target={target}&view=graph", **options)
    opened.await_inside("root.querySelector('.sheet')?.offsetHeight > 0")
    return opened


@pytest.mark.long("otherwise a small program and a long one stand for all", but=["attention-long", "layer"])
@pytest.mark.parametrize("name", gallery.PROGRAMS)
def test_labels_do_not_overlap_or_leave_their_window(show: Show, name: str) -> None:
    captures = compile_piece(name)
    opened = show(captures)
    faults = {}
    for width, target, view in product((390, 1280), captures, VIEWS):
        opened.page.set_viewport_size({"width": width, "height": 900})
        opened.choose(target)
        opened.choose(view)
        opened.page.locator(f".pane.{view}").wait_for()
        opened.inside("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        colors = opened.inside(MEASURE)
        assert colors["texts"] > 0
        if colors["over"] or colors["cut"] or colors["wide"] or colors["page"]:
            faults[width, target, view] = colors
    assert faults == {}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("width", [390, 1280])
def test_the_graph_fills_its_pane_at_a_size_to_read(show: Show, target: str, width: int) -> None:
    opened = open_graph(show, "attention-long", target, viewport={"width": width, "height": 900})
    measured = opened.inside(
        """const [pane, it] = [root.querySelector('.pane'), root.querySelector('.window')];
        const [outer, inner] = [pane.getBoundingClientRect(), it.getBoundingClientRect()];
        const scale = parseFloat(root.querySelector('.percent').textContent) / 100;
        return { left: outer.bottom - inner.bottom, across: outer.width - inner.width, scale,
                 drawn: it.scrollHeight, room: it.clientHeight, tall: inner.height / outer.height };""",
    )
    assert abs(measured["left"]) <= 3
    assert measured["across"] <= 3
    assert measured["tall"] > 0.6
    assert measured["drawn"] >= measured["room"] - 2
    assert measured["scale"] >= 0.9


@pytest.mark.parametrize("width", [390, 1280])
def test_a_box_that_opens_covers_no_other(show: Show, width: int) -> None:
    opened = open_graph(show, "attention-long", "h100", viewport={"width": width, "height": 900})
    opened.page.locator(".box summary").first.click()
    opened.page.locator(".box[open] .line").first.wait_for()
    assert opened.inside(MEASURE)["over"] == []


def test_buttons_keys_and_the_wheel_zoom_and_fit_shows_all(show: Show) -> None:
    opened = open_graph(show, "block-grad", "h100")
    page, percent = opened.page, opened.page.locator(".percent")

    def zoom() -> float:
        return float(percent.inner_text().removesuffix("%").strip())

    first = zoom()
    page.get_by_role("button", name="Larger").click()
    assert zoom() > first
    page.get_by_role("button", name="Smaller").click()
    assert zoom() == first
    page.get_by_role("button", name="Fit the whole picture").click()
    overflow = """const it = root.querySelector('.window');
    return [it.scrollHeight - it.clientHeight, it.scrollWidth - it.clientWidth];"""
    assert max(opened.inside(overflow)) <= 1
    fitted = zoom()
    assert fitted < first
    page.locator(".box summary").first.focus()
    page.keyboard.press("+")
    assert zoom() > fitted
    page.keyboard.press("0")
    assert zoom() == fitted
    window = page.locator(".window").bounding_box()
    assert window is not None
    page.mouse.move(window["x"] + 200, window["y"] + 200)
    page.keyboard.down("Control")
    for _ in range(6):
        page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    opened.await_inside(f"parseFloat(root.querySelector('.percent').textContent) > {2 * fitted}")
    assert page.evaluate("visualViewport.scale") == 1


def test_dragging_the_ground_moves_the_graph(show: Show) -> None:
    opened = open_graph(show, "block-grad", "h100")
    window = opened.page.locator(".window").bounding_box()
    assert window is not None
    x, y = window["x"] + 4, window["y"] + window["height"] - 20
    opened.page.mouse.move(x, y)
    opened.page.mouse.down()
    opened.page.mouse.move(x, y - 150, steps=4)
    opened.page.mouse.up()
    assert abs(opened.inside("return root.querySelector('.window').scrollTop") - 150) <= 2


@pytest.mark.parametrize("view", [*VIEWS, "code"])
def test_explanations_are_behind_a_labeled_question_mark(show: Show, view: str) -> None:
    opened = show(compile_piece("attention"), f"x=report&target=h100&view={view}")
    ask = opened.pane.get_by_role("button", name="What")
    words = opened.pane.locator(".help").first
    assert (ask.get_attribute("aria-expanded"), words.is_visible()) == ("false", False)
    ask.focus()
    opened.page.keyboard.press("Enter")
    assert (ask.get_attribute("aria-expanded"), words.is_visible()) == ("true", True)
    assert words.get_attribute("id") == ask.get_attribute("aria-controls")
    opened.page.keyboard.press("Escape")
    assert words.is_visible() is False


def test_a_kind_has_one_letter_one_pattern_and_one_colour_in_both_schemes_and_in_print(show: Show) -> None:
    script = """return [...root.querySelectorAll('.box')].map((box) => {
      const badge = box.querySelector('.badge');
      const [letter, edge] = [getComputedStyle(badge), getComputedStyle(box, '::before')];
      return [box.classList[1], badge.textContent, letter.backgroundColor, letter.color, edge.backgroundColor,
        edge.backgroundImage];
    })"""
    looks = {}
    for scheme in ("light", "dark"):
        opened = open_graph(show, "block-grad", "tpu-v5e", color_scheme=scheme)
        looks[scheme] = sorted(opened.inside(script))
        opened.page.emulate_media(media="print", color_scheme=scheme)
        looks[f"{scheme} print"] = sorted(opened.inside(script))
    kinds = {tuple(color) for color in looks["light"]}
    assert len(kinds) > 1
    assert len({kind for kind, *_ in kinds}) == len({letter for _, letter, *_ in kinds}) == len(kinds)
    assert {name: look for name, look in looks.items() if look != looks["light"]} == {}


def test_the_bars_of_long_attention_show_what_fusion_saves(show: Show) -> None:
    opened = open_graph(show, "attention-long", "h100")
    widths = opened.inside("return [...root.querySelectorAll('.traffic i')].map((bar) => bar.offsetWidth)")
    assert widths[1] < widths[0] / 3
