"""Use of the explorer in a browser: links, escaped names, accessibility and speed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import pytest

from programs import transformer_block as large
from xla_inspect import Captures, capture, capture_all

from .test_access import judge
from .waiting import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from .conftest import Opener, Show

VIEWS = ("jaxpr", "stablehlo", "before", "passes", "after", "code", "graph", "buffers", "kernels")

pytestmark = pytest.mark.usefixtures("all_targets")


def test_a_link_opens_the_same_state_and_back_returns_to_the_previous_one(show: Show, block: Captures) -> None:
    opened = show(block, "x=report&target=cpu&view=passes&pass=0")
    number = next(n for n, text in enumerate(block["cpu"].source.splitlines(), 1) if "softmax" in text)
    opened.choose("h100")
    opened.choose_line(f"{block['cpu'].source_file}:{number}")
    for _ in range(3):
        opened.page.get_by_role("listbox").press("ArrowDown")
    opened.choose("before")
    opened.choose("passes")
    state = opened.status, opened.texts(".line.lit"), opened.page.locator('[aria-selected="true"]').inner_text()
    assert state[1]
    other = show(block, opened.page.url.partition("#")[2])
    there = other.status, other.texts(".line.lit"), other.page.locator('[aria-selected="true"]').inner_text()
    assert there == state
    opened.page.go_back()
    assert opened.page.locator('.choice.view input[value="before"]').is_checked()
    opened.page.go_back()
    opened.page.go_back()
    assert opened.page.locator('.choice.view input[value="passes"]').is_checked()
    assert opened.texts(".line.lit") == []
    assert opened.page.locator('.choice.target input[value="h100"]').is_checked()


def test_changing_the_target_keeps_the_line_and_the_pass(show: Show, layer: Captures) -> None:
    opened = show(layer, "x=report&target=h100&view=passes&pass=algsimp")
    number = next(n for n, text in enumerate(layer["cpu"].source.splitlines(), 1) if "return jax" in text)
    opened.choose_line(f"{layer['cpu'].source_file}:{number}")
    opened.choose("cpu")
    assert opened.page.locator('[aria-selected="true"] b').inner_text() == "algsimp"
    assert opened.status.startswith(f"{layer['cpu'].source_file}:{number}: ")
    assert opened.texts(".line.lit") != []


def test_passes_are_found_by_name(show: Show, layer: Captures) -> None:
    opened = show(layer, "x=report&target=cpu")
    opened.page.get_by_role("searchbox").fill("fusion")
    names = opened.page.locator('[role="option"]').all_inner_texts()
    assert names
    assert [name for name in names if "fus" not in name] == []
    opened.page.get_by_role("searchbox").fill("no such pass")
    assert "No pass" in opened.pane.inner_text()


def test_switches_hide_layouts_and_show_metadata(show: Show, layer: Captures) -> None:
    opened = show(layer, "x=report&target=cpu&view=after")
    assert "{1,0}" in opened.pane.inner_text()
    opened.page.get_by_label("layouts").uncheck()
    assert "{1,0}" not in opened.pane.inner_text()
    assert "op_name" not in opened.pane.inner_text()
    opened.page.get_by_label("metadata").check()
    assert "op_name" in opened.pane.inner_text()


def test_without_javascript_the_page_shows_before_and_after_and_pictures(show: Show, layer: Captures) -> None:
    opened = show(layer, java_script_enabled=False)
    text = opened.page.locator("main").inner_text()
    for program in layer.values():
        for instruction in (*program.unoptimized_module.entry, *program.module.entry):
            assert instruction.name in text
    assert opened.page.locator("figure.graph svg").count() == opened.page.locator("figure.timeline svg").count() == 3


def test_html_in_names_is_shown_as_text(show: Show) -> None:
    hostile = "<img src=x onerror='window.hit=1'></script><script>window.hit=1</script>"

    def program(x: jax.Array) -> jax.Array:
        with jax.named_scope(hostile):
            return jnp.sin(x) @ x

    program.__name__ = hostile
    captured_program = capture(program, jax.ShapeDtypeStruct((8, 8), jnp.float32))
    files = {file: f"{hostile}/{number}.py" for number, file in enumerate(captured_program.sources)}
    frames = {
        number: tuple(replace(frame, function=hostile, file=files.get(frame.file, frame.file)) for frame in chain)
        for number, chain in captured_program.frames.items()
    }
    sources = {files[file]: f"{text}\n{hostile}" for file, text in captured_program.sources.items()}
    captured_program = replace(captured_program, frames=frames, sources=sources)
    opened = show(Captures({"cpu": captured_program}, {"h100": hostile}, ("cpu", "h100")), "x=report&view=after")
    opened.page.get_by_label("metadata").check()
    for view in VIEWS:
        opened.choose(view)
        for button in opened.page.locator(".pane button.line[data-instruction], .value").all()[:3]:
            button.click()
        assert opened.page.locator("img").count() == 0
        assert opened.page.evaluate("window.hit") is None
    opened.choose("after")
    assert "<img src=x" in opened.page.locator(".source").inner_text()
    assert opened.page.locator("h1").inner_text().startswith(hostile[:20])


@pytest.fixture(scope="module")
def reasoned(all_targets: None) -> Captures:  # noqa: ARG001 - it asks for them
    """The capture of the transformer block for the H100, with its machine code and the compiler's reasons."""
    return capture_all(large.transformer_block, *large.EXAMPLE, targets=("h100",), machine=True, reasons=True)


@pytest.mark.long("otherwise a page of each kind has one look", but=["1280-light"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_no_violation_in_any_view(show: Show, reasoned: Captures, scheme: str, width: int) -> None:
    block = reasoned
    opened = show(block, "x=report&target=h100", color_scheme=scheme, viewport={"width": width, "height": 900})
    number = next(n for n, text in enumerate(block["h100"].source.splitlines(), 1) if "softmax" in text)
    opened.choose_line(f"{block['h100'].source_file}:{number}")
    for view in VIEWS:
        opened.choose(view)
        if view == "passes":
            opened.page.get_by_role("listbox").press("ArrowDown")
        if view == "code":
            opened.page.locator(".kernel:not([open]) > summary").first.click()
            opened.page.locator(".kernel[open] .stages .text").first.wait_for()
        if view == "graph":
            opened.page.locator(".box summary").first.click()
        if view == "kernels":
            opened.page.locator(".all-figures summary").click()
            opened.page.locator(".ask").first.click()
            assert not opened.inside("const it = root.querySelector('.pane'); return it.scrollWidth > it.clientWidth")
            texts = "[...root.querySelectorAll('.roofline text')].map(it => it.getBoundingClientRect().height)"
            assert opened.inside(f"return Math.min(...{texts})") >= 10
        opened.settle()
        assert (view, judge(opened.page, "html")) == (view, [])
        assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view


def test_every_view_can_be_used_with_the_keyboard(show: Show, layer: Captures) -> None:
    opened = show(layer, "x=report&target=cpu")
    for view in VIEWS:
        opened.choose(view)
        opened.page.locator(".choice.view input:checked").focus()
        for _ in range(30):
            opened.page.keyboard.press("Tab")
            if opened.inside("return root.activeElement?.closest('.pane') !== null"):
                break
        assert opened.inside("return root.activeElement?.closest('.pane') !== null"), view


def test_a_page_fetches_the_explorer_on_demand_and_reports_failures(open_page: Opener) -> None:
    page = open_page("pipeline/index.html")
    fetched = "performance.getEntriesByType('resource').map(({ name }) => name)"
    assert [name for name in page.evaluate(fetched) if "/assets/explorer/" in name] == []
    offer = page.locator("[data-explorer]")
    page.route("**/explorer/*.js", lambda route: route.abort())
    offer.get_by_role("button").click()
    offer.get_by_text("Check the connection").wait_for()
    page.unroute("**/explorer/*.js")
    offer.get_by_role("button").click()
    page.get_by_role("listbox").wait_for()
    page.route("**/explorer/*.json", lambda route: route.abort())
    page.locator('.choice.target input[value="cpu"]').click()
    page.get_by_text("The data for CPU did not load").wait_for()
    assert page.locator('.choice.target input[value="h100"]').is_checked()
    page.unroute("**/explorer/*.json")
    page.get_by_role("button", name="Try again").click()
    wait_until(page, "location.hash.includes('target=cpu')")
    assert page.locator('.choice.target input[value="cpu"]').is_checked()


def test_a_link_opens_the_explorer_of_a_page(open_page: Opener) -> None:
    page: Page = open_page("pipeline/index.html#x=layer&target=cpu&view=buffers")
    page.locator(".plan").wait_for()
    assert page.locator('.choice.target input[value="cpu"]').is_checked()
