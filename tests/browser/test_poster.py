"""The poster of a chapter's explorer: it prints, and opens the explorer by keyboard and mouse."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from inside_xla import explorer_files
from livepage.read import project
from programs import layer
from xla_inspect import capture_all
from xla_inspect.report.explorer import embed_explorer

from .host import Site, serve
from .test_access import judge
from .visits import PHONE, WIDE

if TYPE_CHECKING:
    from collections.abc import Generator

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.usefixtures("all_targets")

ASSETS = Path(__file__).resolve().parents[2] / "docs" / "assets"
STYLES = ("page.css", "poster.css", "print.css")
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>A chapter</title>{styles}<body data-md-color-scheme="{scheme}" style="background: var(--paper)">
<main class="md-typeset"><h1>A chapter</h1>{explorer}<p>After it.</p></main>
<script src="assets/explorer.js" defer></script></body></html>"""
SCHEMES = {"light": "default", "dark": "slate"}


@pytest.fixture(scope="module")
def chapter(tmp_path_factory: pytest.TempPathFactory) -> Generator[Site]:
    """A served folder of static files with one explorer, in both color schemes."""
    folder = tmp_path_factory.mktemp("chapter")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(project, "root", folder)
        explorer = embed_explorer(capture_all(layer.layer, *layer.EXAMPLE), "layer", target="h100")
        (folder / "site").mkdir()
        explorer_files.publish_explorer([explorer], folder / "site")
    styles = "".join(f'<link rel="stylesheet" href="assets/css/{name}">' for name in STYLES)
    for name, scheme in (*SCHEMES.items(), ("404", "default")):
        html = PAGE.format(styles=styles, scheme=scheme, explorer=explorer)
        (folder / "site" / f"{name}.html").write_text(html, encoding="utf-8")
    shutil.copy(ASSETS / "explorer.js", folder / "site" / "assets" / "explorer.js")
    shutil.copytree(ASSETS / "css", folder / "site" / "assets" / "css")
    with serve(folder / "site") as served:
        yield served


def visit(chapter: Site, browser: Browser, scheme: str = "light", **options: object) -> Page:
    window = browser.new_page(**{"viewport": {"width": WIDE, "height": 900}, **options})  # type: ignore[arg-type]  # handed on
    window.on("pageerror", lambda error: pytest.fail(f"the page failed: {error}"))
    window.goto(f"{chapter.address}/{scheme}.html")
    return window


def test_the_keyboard_opens_it_at_the_pass_that_the_picture_marks(chapter: Site, browser: Browser) -> None:
    page = visit(chapter, browser)
    marked = page.locator(".strip text.chosen").text_content()
    page.keyboard.press("Tab")
    button = page.get_by_role("button", name="Open the explorer")
    assert button.evaluate("it => it === document.activeElement")
    page.keyboard.press("Enter")
    page.locator('[aria-selected="true"]', has_text=marked).wait_for()
    assert page.evaluate("Boolean(document.querySelector('[data-explorer]').shadowRoot.activeElement)")
    page.close()


def test_a_click_on_the_picture_opens_it(chapter: Site, browser: Browser) -> None:
    page = visit(chapter, browser)
    page.locator(".poster").click()
    page.get_by_role("listbox").wait_for()
    assert page.locator(".poster:visible").count() == 0
    page.close()


def test_the_picture_has_a_description(chapter: Site, browser: Browser) -> None:
    page = visit(chapter, browser)
    first, second = page.get_by_role("img").all()
    assert (first.get_attribute("aria-label") or "").startswith("layer on NVIDIA H100: ")
    assert (second.get_attribute("aria-label") or "").startswith("Changes by priority-fusion: ")
    page.close()


@pytest.mark.parametrize("is_opened", [False, True])
def test_on_paper_the_picture_stands_alone(chapter: Site, browser: Browser, *, is_opened: bool) -> None:
    page = visit(chapter, browser)
    if is_opened:
        page.get_by_role("button").click()
        page.get_by_role("listbox").wait_for()
    page.emulate_media(media="print")
    assert page.locator(".poster").is_visible()
    assert page.get_by_role("button").count() == 0
    assert page.get_by_role("listbox").count() == 0
    page.close()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_it_fits_a_phone_and_its_text_can_be_read(chapter: Site, browser: Browser, scheme: str) -> None:
    page = visit(chapter, browser, scheme, viewport={"width": PHONE, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
    sizes = "all => all.map(it => it.getBBox && parseFloat(getComputedStyle(it).fontSize) * it.getScreenCTM().a)"
    assert min(page.locator(".poster text").evaluate_all(sizes)) >= 8
    page.close()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_poster_is_accessible(chapter: Site, browser: Browser, scheme: str) -> None:
    page = visit(chapter, browser, scheme)
    assert judge(page, ".explorer") == []
    page.close()


def test_the_picture_is_shown_without_scripts(chapter: Site, browser: Browser) -> None:
    page = visit(chapter, browser, java_script_enabled=False)
    assert page.get_by_role("img").count() == 2
    assert "It needs JavaScript." in page.locator(".what").inner_text()
    page.close()
