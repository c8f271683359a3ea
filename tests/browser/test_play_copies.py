"""Exports and imports of the playground: links with code, tests, issues, commands and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from .played import TEXT, context, opcodes, page, settle, write

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["context", "page"]  # fixtures


@pytest.mark.parametrize("link", ["play=%%%", "play=AAAA", "play=", "play=" + "A" * 600_000])
def test_an_empty_link_is_reported_and_keeps_the_edits(page: Page, link: str) -> None:
    write(page, "jnp.tanh", "jnp.cosh")
    page.evaluate("link => { location.hash = link }", link)
    expect(page.locator(".notice.broken")).to_contain_text("cannot be opened")
    settle(page)
    assert "jnp.cosh" in page.evaluate(TEXT)


def test_a_link_brings_code_arguments_and_options_and_unpacks_no_more_than_is_allowed(page: Page) -> None:
    trip = """async program => {
      const link = `http://elsewhere/#${await xlaExplorer.packCode(program)}`
      try { return await xlaExplorer.unpackCode(link) } catch (error) { return error.message }
    }"""
    program = {
        "code": "x = 'é λ 🙂'\n",
        "function": "f",
        "arguments": "x: f32[8]",
        "targets": ["cpu", "h100"],
        "options": {"donate": ["x"], "grad": True, "vmap": 4, "mesh": "data=8", "flags": {"xla_a": "1"}},
        "look": {"target": "h100", "view": "kernels"},
    }
    assert page.evaluate(trip, program) == program
    wrong = {"code": "x", "options": {"donate": "x", "static": 3, "mesh": {}, "flags": {"no name": 1}}, "look": []}
    copied = page.evaluate(trip, wrong)
    assert (copied["options"], copied["look"], copied["targets"]) == ({"flags": {}}, {}, [])
    assert "more than a playground opens" in page.evaluate(trip, {"code": "x" * 2_000_000})


def test_a_link_is_copied_and_opened_by_pasting_it(page: Page) -> None:
    write(page, "jnp.tanh", "jnp.sinh")
    settle(page)
    page.locator("summary", has_text="Share").click()
    page.get_by_role("button", name="Copy a link").click()
    page.get_by_text("The link is copied").wait_for()
    link = page.evaluate("() => navigator.clipboard.readText()")
    write(page, "jnp.sinh", "jnp.cosh")
    settle(page)
    page.locator("summary", has_text="Share").click()
    page.get_by_label("A link to code").fill(link)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Run it").click()
    settle(page)
    assert " sinh" in opcodes(page)


def test_an_opening_menu_keeps_the_focus_in_its_field(page: Page) -> None:
    """The browser sends "toggle" only after the menu is open, so that a field may have the focus by then."""
    focus = """async () => {
      const menu = [...document.querySelectorAll(".menu")].at(-1)
      const open = () => {
        const toggled = new Promise(resolve => menu.addEventListener("toggle", resolve, { once: true }))
        menu.firstElementChild.click()
        menu.querySelector("input")?.focus()
        return toggled
      }
      for (let times = 0; times < 3; times++) await open()
      return document.activeElement.getAttribute("aria-label")
    }"""
    assert page.evaluate(focus) == "A link to code"


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ("Copy as test", "def test_"),
        ("Copy as issue", "jaxlib"),
        ("Copy the command", "xla-inspect "),
    ],
)
def test_copied_text_matches_the_editor(page: Page, item: str, words: str) -> None:
    write(page, "jnp.tanh", "jnp.sinh")
    settle(page)
    page.locator("summary", has_text="Share").click()
    page.get_by_role("button", name=item).click()
    page.get_by_text("It is copied.").wait_for()
    text = page.evaluate("() => navigator.clipboard.readText()")
    assert words in text
    if item != "Copy the command":
        assert "jnp.sinh" in text


def test_the_downloaded_file_matches_the_editor(page: Page) -> None:
    write(page, "jnp.tanh", "jnp.sinh")
    page.locator("summary", has_text="Share").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "layer.py"
    assert "jnp.sinh" in download.value.path().read_text(encoding="utf-8")
