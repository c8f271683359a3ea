"""The look of pages: the system's color scheme, a tab chosen everywhere, and labeled folds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from .conftest import lacks
from .test_access import judge
from .visits import LOOKS, PHONE, WIDE, Look
from .waiting import expect_value, wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from .conftest import Anew, Opener
    from .host import Site

DARK_BELOW = 0.2
LANDING = 160  # pixels below the top of the window, room for the header
LANDED = """([id, most]) => {
  const top = document.getElementById(id).getBoundingClientRect().top
  return 0 <= top && top <= most
}"""


def brightness(page: Page) -> float:
    """Return the brightness of the page's background, from 0 to 1."""
    color: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(map(int, re.findall(r"\d+", color)[:3])) / (3 * 255)


# What is wrong with a page, by what is wrong with it.
SEEN = {
    "scrolls sideways": """document.documentElement.scrollWidth === innerWidth ? [] :
        [...document.querySelectorAll("body *")]
        .filter(it => !it.closest("pre") && it.getBoundingClientRect().right > innerWidth + 1)
        .map(it => it.outerHTML.slice(0, 120)).slice(0, 5).concat("something")""",
    "an id occurs twice": """[...document.querySelectorAll("[id]")].map(it => it.id)
        .filter((id, at, all) => all.indexOf(id) !== at)""",
    "it does not say what it is": """[["language", document.documentElement.lang === "en"],
        ["description", document.querySelector("meta[name=description]")?.content],
        ["colour", document.querySelectorAll("meta[name=theme-color]").length === 1],
        ["heading", document.querySelectorAll("h1").length === 1]].filter(([, it]) => !it)""",
    "a fold does not say what it holds": """[...document.querySelectorAll("details.listing > summary")]
        .filter(bar => bar.checkVisibility() && !(bar.innerText.trim().length > 3 &&
          getComputedStyle(bar).cursor === "pointer" && getComputedStyle(bar, "::before").content === '"+"'))
        .map(bar => bar.outerHTML.slice(0, 120))""",
    "a listing is cut off without a fold": """[...document.querySelectorAll("article pre, article .highlight")]
        .filter(box => box.checkVisibility() && box.scrollHeight > box.clientHeight + 1)
        .map(box => box.innerText.slice(0, 80))""",
    "a command breaks within an option": """[...document.querySelectorAll(".option")]
        .filter(it => !(innerWidth < 600 && it.closest("td")) && it.getClientRects().length > 1)
        .map(it => it.innerText)""",
    "HLO does not wrap on a phone": """[...document.querySelectorAll("article .language-hlo pre")]
        .filter(box => innerWidth < 500 && box.checkVisibility() && box.scrollWidth > box.clientWidth)
        .map(box => box.innerText.slice(0, 80))""",
}
# The texts of pictures that a line crosses. Only axes, rooflines, the peaks of memory plans, and pictures of element
# orders and systolic arrays may have such lines.
CROSSED_TEXTS = """() => {
  const sample = shape => (shape.getAttribute("d")?.split(/(?=M)/) ?? [null]).flatMap(part => {
    const line = part === null ? shape : document.createElementNS(shape.namespaceURI, "path")
    if (part !== null) line.setAttribute("d", part)
    const length = part?.includes(" ") === false ? 0 : line.getTotalLength()
    return Array.from({ length: Math.ceil(length / 2) }, (_, step) => line.getPointAtLength(2 * step))
  })
  return [...document.querySelectorAll("article :is(figure:not(.orders), .origins) svg")].flatMap(svg => {
    const texts = [...svg.querySelectorAll("text")].filter(it => it.checkVisibility() && it.textContent.trim())
    const boxes = texts.map(text => [text.textContent, text.getBBox()])
    return [...svg.querySelectorAll(":is(path, line, polyline, rect):not(.axis, .peak, .roof)")]
      .filter(shape => shape.checkVisibility() && getComputedStyle(shape).stroke !== "none")
      .flatMap(shape => {
        const points = sample(shape)
        return boxes.filter(([, box]) => points.some(({ x, y }) =>
          box.x + 1 < x && x < box.x + box.width - 1 && box.y + 2.5 < y && y < box.y + box.height - 2.5
        )).map(([text]) => `${svg.getAttribute("aria-label").slice(0, 60)}: ${text}`)
      })
  })
}"""
# Folds and tabs hide what they hold: open every fold, and show every pane of every tab set at once.
REVEAL = """() => {
  for (const fold of document.querySelectorAll("details")) fold.open = true
  for (const pane of document.querySelectorAll(".tabbed-block")) pane.style.display = "block"
}"""


@pytest.mark.long(
    "otherwise a page of each kind has one look",
    but=[
        "404.html-light-1280",
        "glossary/index.html-light-1280",
        "index.html-dark-390",
        "pipeline/index.html-dark-390",
        "practice/hlo/index.html-light-1280",
    ],
)
@pytest.mark.parametrize("look", LOOKS, ids=lambda look: f"{look.scheme}-{look.width}")
def test_a_page_is_whole_in_each_look_and_so_is_all_that_it_folds(open_anew: Anew, page_path: str, look: Look) -> None:
    page = open_anew(page_path, look)
    faults = {fault: page.evaluate(script) for fault, script in SEEN.items()}
    page.evaluate(REVEAL)
    faults["scrolls sideways with all folds open"] = page.evaluate(SEEN["scrolls sideways"])
    faults["a line crosses a text of a picture"] = page.evaluate(CROSSED_TEXTS)
    faults["axe"] = judge(page)
    assert {fault: places for fault, places in faults.items() if places} == {}


@pytest.mark.parametrize(
    ("shape", "texts"),
    [
        ('<line x1="0" y1="20" x2="200" y2="20"/>', ["Picture: kernel"]),
        ('<line x1="0" y1="60" x2="200" y2="60"/>', []),
        ('<path d="M 0 60 L 200 60 M 0 20 L 200 20"/>', ["Picture: kernel"]),
        ('<path d="M 0 20 L 30 20 M 150 20 L 200 20"/>', []),
        ('<rect x="60" y="0" width="100" height="90" fill="none"/>', ["Picture: kernel"]),
        ('<line x1="0" y1="20" x2="200" y2="20" class="axis"/>', []),
        ('<line x1="0" y1="20" x2="200" y2="20" stroke="none"/>', []),
    ],
    ids=["line", "line below", "second part", "gap", "border", "axis", "no stroke"],
)
def test_a_line_that_crosses_a_text_is_found(browser: Browser, shape: str, texts: list[str]) -> None:
    page = browser.new_page()
    picture = f'<text x="40" y="25" stroke="none" style="font: 16px monospace">kernel</text>{shape}'
    page.set_content(f'<article><figure><svg aria-label="Picture" stroke="black">{picture}</svg></figure></article>')
    assert page.evaluate(CROSSED_TEXTS) == texts
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_first_visit_follows_the_system(open_page: Opener, scheme: str) -> None:
    assert (brightness(open_page("", color_scheme=scheme)) < DARK_BELOW) == (scheme == "dark")


def test_a_dark_page_is_dark_before_the_theme_script_runs(open_page: Opener, site: Site) -> None:
    page = open_page("404.html", color_scheme="dark")
    page.context.route("**/bundle.*.js", lambda route: route.abort())
    page.goto(site.address)
    assert brightness(page) < DARK_BELOW


def test_the_toggle_chooses_a_scheme_and_a_reload_keeps_it(open_page: Opener) -> None:
    page = open_page("", color_scheme="dark")
    page.locator("label[for^=__palette]:visible").click()
    expect_value(page, lambda: brightness(page) > DARK_BELOW, expected=True)
    page.reload()
    expect_value(page, lambda: brightness(page) > DARK_BELOW, expected=True)


@pytest.mark.long("otherwise the home page and a chapter stand for all", but=["index.html", "pipeline/index.html"])
def test_a_tab_chosen_once_is_chosen_in_every_set_and_after_a_reload(open_anew: Anew, page_path: str) -> None:
    page = open_anew(page_path)
    labels = page.locator("article .tabbed-set:not(details .tabbed-set) > .tabbed-labels > label")
    names = [name.strip() for name in labels.all_inner_texts()]
    shared = next((name for name in dict.fromkeys(names) if names.count(name) > 1 and names.index(name)), None)
    if lacks(page_path, shared) or shared is None:
        return
    labels.nth(names.index(shared)).click()
    chosen = """name => [...document.querySelectorAll("article .tabbed-set")]
      .map(set => [...set.querySelectorAll(":scope > .tabbed-labels > label")]
        .find(label => label.innerText.trim() === name))
      .filter(label => label?.checkVisibility())
      .map(label => document.getElementById(label.htmlFor).checked)"""
    expect_value(page, lambda: set(page.evaluate(chosen, shared)), {True})
    page.reload()
    expect_value(page, lambda: set(page.evaluate(chosen, shared)), {True})


def test_the_fonts_come_from_the_site(open_page: Opener) -> None:
    page = open_page("")
    page.evaluate("document.fonts.ready")
    loaded = page.evaluate("[...document.fonts].filter(font => font.status === 'loaded').map(font => font.family)")
    assert {name.strip('"') for name in loaded} == {"Notebook Serif", "Notebook Mono"}


@pytest.mark.long("otherwise the home page and a chapter stand for all", but=["index.html", "pipeline/index.html"])
def test_the_copy_button_copies_the_listing(open_anew: Anew, page_path: str) -> None:
    page = open_anew(page_path)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    listing = page.locator("article .highlight:visible").first
    if lacks(page_path, listing.count()):
        return
    listing.hover()
    listing.locator("> .copy").click()
    # The clipboard answers in its own time.
    expect(listing.locator("> .copy")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == listing.locator("pre code").text_content()


@pytest.mark.long("otherwise a page of each kind has one look", but=["pipeline/index.html-390"])
@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_a_link_within_the_page_lands_at_its_section(open_anew: Anew, page_path: str, width: int) -> None:
    page = open_anew(page_path, Look(width))
    links = page.locator('article figure.stages >> nth=0 >> a[href^="#"]')
    if lacks(page_path, links.count()):
        return
    missed = []
    for href in [link.get_attribute("href") or "" for link in links.all()]:
        page.goto(page.url.partition("#")[0])
        page.evaluate("document.fonts.ready")
        page.locator(f'article figure.stages a[href="{href}"]').first.click()
        try:
            wait_until(page, LANDED, [href[1:], LANDING], seconds=10)
        except TimeoutError:
            missed.append(href)
    assert missed == []


def test_on_a_phone_each_row_of_the_table_of_rewrites_is_filled(open_page: Opener) -> None:
    page = open_page("simplification/", viewport={"width": PHONE, "height": 844})
    filled = page.evaluate(
        """[...document.querySelectorAll(".fates tbody tr")].map(row => {
          const ends = [...row.cells].map(cell => Math.round(cell.getBoundingClientRect().right))
          return ends.filter(end => end === Math.round(row.getBoundingClientRect().right)).length
        })"""
    )
    assert len(filled) > 20
    assert set(filled) == {3}  # its name, and what became of it in two element types
