"""What every page must be: self-contained, valid, no wider than the screen, light, and whole without JavaScript."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import pytest

from .conftest import CHAPTER
from .host import serve
from .visits import PHONE, POLICY, WIDE, Look

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from playwright.sync_api import Browser, ConsoleMessage, Page

    from .conftest import Anew, Opener
    from .host import Site
    from .visits import Looker

MOST_BYTES = 200_000


class Ids(HTMLParser):
    """Collects the ids and the heading levels of a page as it lies on disk."""

    def __init__(self) -> None:
        """Start with none."""
        super().__init__()
        self.ids: list[str] = []
        self.levels: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag tells."""
        self.ids += [value for name, value in attrs if name == "id" and value]
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self.levels.append(int(tag[1]))


def read(site: Site, page_path: str) -> Ids:
    """Return the ids and headings of a page."""
    found = Ids()
    found.feed((site.folder / page_path).read_text(encoding="utf-8"))
    return found


def test_every_built_page_is_tested(site: Site, page_paths: list[str]) -> None:
    assert site.html == sorted(page_paths)


@dataclass
class First:
    """A page whose window keeps nothing of another.

    Attributes:
        path: Which page it is.
        page: Where it is shown.
        sent: Path and size in bytes of each answer until it was at rest.
        requests: The address of all that it asked for, and goes on to ask for.
        complaints: The errors and warnings that it logged, and goes on to log.
    """

    path: str
    page: Page
    sent: list[tuple[str, int]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def hear(self, message: ConsoleMessage) -> None:
        """Note an error or a warning."""
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)


@pytest.fixture(scope="module")
def first_visits(site: Site, browser: Browser) -> Generator[Callable[[str], First]]:
    """Open a page as nobody has seen it yet, heard from the beginning; the next test of the page gets the same."""
    latest: list[First] = []

    with serve(site.folder, site.packed) as alone:

        def first_visit(path: str) -> First:
            if not latest or latest[0].path != path:
                while latest:
                    latest.pop().page.context.close()
                alone.sent.clear()
                context = browser.new_context(viewport={"width": WIDE, "height": 900})
                first = First(path, context.new_page())
                latest.append(first)
                context.on("request", lambda request: first.requests.append(request.url))
                context.on("console", first.hear)
                context.on("weberror", lambda error: first.complaints.append(str(error.error)))
                first.page.goto(f"{alone.address}/{path}", wait_until="load")
                first.page.wait_for_load_state("networkidle")
                first.sent += alone.sent
            return latest[0]

        yield first_visit
        while latest:
            latest.pop().page.context.close()


@pytest.mark.long("otherwise the home page and a chapter stand for all", but=["index.html", "pipeline/index.html"])
def test_a_page_asks_no_other_host_and_logs_no_error(first_visits: Callable[[str], First], page_path: str) -> None:
    first = first_visits(page_path)
    page = first.page
    page.keyboard.press("/")  # opens the search, which loads its index
    page.keyboard.type("fusion")
    page.locator(".md-search-result__meta:not(:text('Type to'))").wait_for()
    page.wait_for_load_state("networkidle")
    address = page.evaluate("location.origin")
    assert [url for url in first.requests if not url.startswith((f"{address}/", "data:", "blob:"))] == []
    assert len(first.requests) > len(first.sent)
    assert first.complaints == []


def test_every_page_has_the_policy_that_keeps_other_hosts_out(site: Site) -> None:
    rule = '<meta http-equiv="Content-Security-Policy" content="default-src \'self\' file:;'
    assert [page for page in site.html if rule not in (site.folder / page).read_text(encoding="utf-8")] == []


ASK = """async elsewhere => {
  const image = Object.assign(new Image(), { src: `${elsewhere}/image` })
  const script = Object.assign(document.createElement("script"), { src: `${elsewhere}/script` })
  const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: `${elsewhere}/style` })
  const frame = Object.assign(document.createElement("iframe"), { src: `${elsewhere}/frame` })
  document.body.append(image, script, style, frame)
  await fetch(`${elsewhere}/fetch`, { mode: "no-cors" }).catch(() => null)
  await new Promise(done => setTimeout(done, 300))
}"""


def test_nothing_that_a_page_came_to_hold_could_reach_another_host(
    site: Site, browser: Browser, tmp_path: Path
) -> None:
    (tmp_path / "404.html").write_text("", encoding="utf-8")
    blocked: list[str] = []
    page = browser.new_page()
    page.on("console", lambda message: POLICY in message.text and blocked.append(message.text))
    page.goto(f"{site.address}/{CHAPTER}")
    with serve(tmp_path) as elsewhere:
        page.evaluate(ASK, elsewhere.address)
        assert elsewhere.sent == []
    page.close()
    assert len(blocked) >= 5


def test_a_page_that_is_opened_from_a_disk_has_its_looks(site: Site, browser: Browser) -> None:
    page = browser.new_page()
    page.goto((site.folder / CHAPTER).as_uri())
    page.evaluate("document.fonts.ready")
    assert page.evaluate("[...document.styleSheets].filter(sheet => sheet.href).length") > 5
    assert "Notebook Serif" in page.evaluate("getComputedStyle(document.querySelector('article')).fontFamily")
    assert page.evaluate("document.querySelectorAll('.explorer button').length") > 0
    page.close()


def test_the_search_loads_when_somebody_searches_and_finds(site: Site, open_page: Opener) -> None:
    site.sent.clear()
    page = open_page("")
    page.wait_for_load_state("networkidle")
    assert [path for path, _ in site.sent if "search" in path] == []
    page.keyboard.press("/")
    page.keyboard.type("pipeline")
    page.locator(".md-search-result__item a").first.wait_for()
    fetched = [path.rpartition("/")[2] for path, _ in site.sent if "search" in path]
    # The worker and the word list arrive in either order.
    assert sorted(name.partition(".")[0] for name in fetched) == ["search", "search", "search_index"]
    page.keyboard.press("Enter")
    page.wait_for_url("**/pipeline/**")


@pytest.mark.long("otherwise the home page and a chapter stand for all", but=["index.html", "pipeline/index.html"])
def test_no_id_occurs_twice(site: Site, look_at: Looker, page_path: str) -> None:
    written = read(site, page_path).ids
    shown = look_at(page_path).evaluate("[...document.querySelectorAll('[id]')].map(element => element.id)")
    assert [name for ids in (written, shown) for name, count in Counter(ids).items() if count > 1] == []


def test_headings_go_down_one_level_at_a_time(site: Site, page_path: str) -> None:
    levels = read(site, page_path).levels
    assert levels[0] == 1
    assert [pair for pair in pairwise(levels) if pair[1] > pair[0] + 1] == []


# The looks of the test with axe: a scheme is a matter of colours.
@pytest.mark.long("otherwise the home page and a chapter stand for all", but=["index.html", "pipeline/index.html"])
@pytest.mark.parametrize(("width", "scheme"), [(PHONE, "dark"), (WIDE, "light")], ids=[PHONE, WIDE])
def test_a_page_never_scrolls_sideways(
    look_at: Looker, page_path: str, width: int, scheme: Literal["light", "dark"]
) -> None:
    page = look_at(page_path, Look(width, scheme))
    assert page.evaluate("document.documentElement.scrollWidth") == width, widest(page, width)


@pytest.mark.long("otherwise the home page and a chapter stand for all", but=["index.html", "pipeline/index.html"])
@pytest.mark.parametrize(("width", "scheme"), [(PHONE, "dark"), (WIDE, "light")], ids=[PHONE, WIDE])
def test_a_page_never_scrolls_sideways_with_all_folds_open(
    look_into: Looker, page_path: str, width: int, scheme: Literal["light", "dark"]
) -> None:
    page = look_into(page_path, Look(width, scheme))
    assert page.evaluate("document.documentElement.scrollWidth") == width, widest(page, width)


def widest(page: Page, width: int) -> list[str]:
    """Return what stands out of the page, for the message of a failure."""
    found: list[str] = page.evaluate(
        """width => [...document.querySelectorAll("body *")]
        .filter(element => !element.closest("pre") && element.getBoundingClientRect().right > width + 1)
        .map(element => element.outerHTML.slice(0, 120))""",
        width,
    )
    return found[:5]


@pytest.mark.long("otherwise the home page and a chapter stand for all", but=["index.html", "pipeline/index.html"])
def test_a_page_is_light_to_load(
    first_visits: Callable[[str], First], page_path: str, record_property: pytest.RecordProperty
) -> None:
    sizes = sorted(first_visits(page_path).sent, key=lambda answer: -answer[1])
    total = sum(size for _, size in sizes)
    print(f"\n{page_path}: {total:,} of {MOST_BYTES:,} bytes")  # noqa: T201 - the budget, shown with -s or on failure
    print("\n".join(f"{size:9,}  {path}" for path, size in sizes))  # noqa: T201
    record_property("bytes", total)
    assert total <= MOST_BYTES


@pytest.mark.long("otherwise the home page and a chapter stand for all", but=["index.html", "pipeline/index.html"])
def test_without_javascript_a_page_shows_its_text_and_its_tabs(open_anew: Anew, page_path: str) -> None:
    page = open_anew(page_path, Look(javascript=False))
    article = page.locator("article")
    assert page.locator("h1").is_visible()
    assert article.locator("p:not(:empty)").first.is_visible()
    for tabs in article.locator(".tabbed-set:not(details .tabbed-set):not(.tabbed-set .tabbed-set)").all():
        labels = tabs.locator("> .tabbed-labels > label")
        panes = tabs.locator("> .tabbed-content > .tabbed-block")
        labels.last.click()
        assert [pane.is_visible() for pane in panes.all()] == [False] * (labels.count() - 1) + [True]


@pytest.mark.long("otherwise the home page and a chapter stand for all", but=["index.html", "pipeline/index.html"])
def test_a_page_says_what_it_is(look_at: Looker, page_path: str) -> None:
    page = look_at(page_path)
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.locator("meta[name=description]").get_attribute("content")
    assert page.locator("meta[name=theme-color]").count() == 1
    assert page.locator("h1").count() == 1


def test_an_unknown_address_leads_home(open_page: Opener) -> None:
    page = open_page("nowhere/at-all/")
    assert page.locator("h1").inner_text() == "There is no page here"
    page.locator("article a").first.click()
    page.wait_for_load_state()
    assert page.locator("h1").count() == 1
    assert "nowhere" not in page.url
