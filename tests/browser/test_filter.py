"""Filters of opcodes and passes: typing, keyboard, screen readers, and the full list without JavaScript."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from xla_inspect.hlo import CATEGORIES, OPCODES

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from .conftest import Opener

PAGE, PASSES = "operations/index.html", "passes/index.html"
TABLE = Path(__file__).resolve().parents[2] / "docs" / "data" / "passes.toml"


@pytest.fixture
def page(open_page: Opener) -> Page:
    """The page with the list of opcodes."""
    return open_page(PAGE)


def left(page: Page) -> list[str]:
    """Return the opcodes that are shown."""
    names: list[str] = page.eval_on_selector_all(
        "details.opcode", "rows => rows.filter(row => row.offsetParent).map(row => row.id.slice(3))"
    )
    return names


def test_all_opcodes_are_shown_without_a_filter(page: Page) -> None:
    assert sorted(left(page)) == sorted(OPCODES)
    assert page.locator(".filter [role=status]").inner_text() == ""  # an aria-live region, polite


def test_typing_filters_by_every_word_and_shows_the_count(page: Page) -> None:
    page.get_by_label("Filter").fill("RAGGED all-to-all")
    assert left(page) == ["ragged-all-to-all"]
    assert page.locator(".filter [role=status]").inner_text() == f"1 of {len(OPCODES)} opcodes"
    headings = {heading.get_attribute("id") for heading in page.locator("h3:visible").all()}
    assert headings & {name.replace(" ", "-") for name in CATEGORIES} == {"communication"}


def test_a_category_and_a_call_are_found_too(page: Page) -> None:
    page.get_by_label("Filter").fill("batch norm")
    assert left(page) == ["batch-norm-grad", "batch-norm-inference", "batch-norm-training"]
    page.get_by_label("Filter").fill("lax.psum(")
    assert left(page) == ["all-reduce"]


def test_a_filter_without_matches_is_reported(page: Page) -> None:
    page.get_by_label("Filter").fill("<b>frobnicate</b>")
    assert left(page) == []
    assert page.locator(".filter [role=status]").inner_text() == f"0 of {len(OPCODES)} opcodes"


def test_the_keyboard_reaches_the_box_opens_what_is_found_and_clears(page: Page) -> None:
    box = page.get_by_label("Filter")
    box.focus()
    page.keyboard.type("cholesky")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.parentElement.id") == "op-cholesky"
    page.keyboard.press("Enter")
    assert page.locator("#op-cholesky pre").first.is_visible()
    box.focus()
    page.keyboard.press("Escape")
    assert box.input_value() == ""
    assert len(left(page)) == len(OPCODES)


def test_a_link_to_an_opcode_that_is_filtered_away_shows_it(page: Page) -> None:
    page.get_by_label("Filter").fill("cholesky")
    page.evaluate("location.hash = 'op-dot'")
    page.locator("#op-dot").wait_for(state="visible")


def test_without_javascript_there_is_no_box_and_the_list_is_whole(open_page: Opener) -> None:
    page = open_page(PAGE, java_script_enabled=False)
    assert page.locator(".filter").count() == 0
    assert page.locator("details.opcode").count() == len(OPCODES)
    assert page.locator("details.opcode").first.is_visible()


def test_another_page_has_no_box(open_page: Opener) -> None:
    assert open_page("glossary/index.html").locator(".filter").count() == 0


@pytest.fixture
def passes(open_page: Opener) -> Page:
    """The page with the list of passes."""
    return open_page(PASSES)


def list_shown(page: Page) -> list[str]:
    """Return the passes that are shown."""
    names: list[str] = page.eval_on_selector_all(
        ".passes details.opcode", "rows => rows.filter(row => row.checkVisibility()).map(row => row.id)"
    )
    return names


def test_the_fold_of_quiet_passes_opens_if_it_contains_a_match(passes: Page) -> None:
    pass_table = tomllib.loads(TABLE.read_text(encoding="utf-8"))["passes"]
    before = list_shown(passes)
    assert "algsimp" in before
    assert "float-normalization-s4" not in before
    passes.get_by_label("Filter").fill("float-normalization-s4")
    assert list_shown(passes) == ["float-normalization-s4"]
    assert passes.locator(".filter [role=status]").inner_text() == f"1 of {len(pass_table)} passes"
    passes.get_by_label("Filter").fill("")
    assert list_shown(passes) == before


def test_passes_are_found_by_target_and_by_pipeline(passes: Page) -> None:
    passes.get_by_label("Filter").fill("a100 conv_canonicalization")
    shown_passes = list_shown(passes)
    assert {"conv-rewriter", "cudnn-fused-convolution-rewriter"} <= set(shown_passes)
    assert "priority-fusion" not in shown_passes


def test_a_link_to_a_pass_in_the_fold_shows_it(open_page: Opener) -> None:
    page = open_page(f"{PASSES}#float-normalization-s4")
    page.locator("#float-normalization-s4").wait_for(state="visible")
    assert page.locator("#float-normalization-s4").evaluate("row => row.getBoundingClientRect().top < innerHeight")


def test_the_sentence_of_a_pass_is_shown_on_hover(open_page: Opener) -> None:
    page = open_page("simplification/index.html")
    page.locator("a.term", has_text="algsimp").first.hover()
    tip = page.get_by_role("tooltip")
    tip.wait_for()
    sentence = tomllib.loads(TABLE.read_text(encoding="utf-8"))["passes"]["algsimp"]["says"]
    assert tip.inner_text() == f"algsimp {sentence}"
