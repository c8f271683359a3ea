"""Every page is self-contained, valid, small, and complete without JavaScript."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .conftest import CHAPTER
from .host import serve
from .searching import search
from .visits import POLICY, WIDE, Look

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

    from .conftest import Anew, Opener
    from .host import Site

MOST_BYTES = 200_000


def test_every_built_page_is_tested(site: Site, page_paths: list[str]) -> None:
    assert site.html == sorted(page_paths)


@pytest.mark.long("otherwise the home page and a chapter stand for all", but=["index.html", "pipeline/index.html"])
def test_a_first_visit_is_light_asks_no_other_host_and_logs_no_error(
    site: Site, browser: Browser, page_path: str, record_property: pytest.RecordProperty
) -> None:
    requests: list[str] = []
    complaints: list[str] = []
    context = browser.new_context(viewport={"width": WIDE, "height": 900})
    context.on("request", lambda request: requests.append(request.url))
    context.on("console", lambda message: message.type in {"error", "warning"} and complaints.append(message.text))
    context.on("weberror", lambda error: complaints.append(str(error.error)))
    with serve(site.folder, site.packed) as alone:
        page = context.new_page()
        page.goto(f"{alone.address}/{page_path}", wait_until="load")
        page.wait_for_load_state("networkidle")
        sizes = sorted(alone.sent, key=lambda answer: -answer[1])
        page.keyboard.press("/")  # opens the search, which loads its index
        page.keyboard.type("fusion")
        page.locator(".md-search-result__meta:not(:text('Type to'))").wait_for()
        page.wait_for_load_state("networkidle")
        context.close()
    total = sum(size for _, size in sizes)
    print(f"\n{page_path}: {total:,} of {MOST_BYTES:,} bytes")  # noqa: T201 - the budget, shown with -s or on failure
    print("\n".join(f"{size:9,}  {path}" for path, size in sizes))  # noqa: T201
    record_property("bytes", total)
    assert total <= MOST_BYTES
    assert [url for url in requests if not url.startswith((f"{alone.address}/", "data:", "blob:"))] == []
    assert len(requests) > len(sizes)
    assert complaints == []


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


def test_the_policy_blocks_injected_requests_to_other_hosts(site: Site, browser: Browser, tmp_path: Path) -> None:
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


def test_a_page_opened_from_disk_has_its_styles(site: Site, browser: Browser) -> None:
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
    assert search(page, "pipeline")[0] == "pipeline/"
    fetched = [path.rpartition("/")[2] for path, _ in site.sent if "search" in path]
    # The worker and the word list arrive in either order.
    assert sorted(name.partition(".")[0] for name in fetched) == ["search", "search", "search_index"]
    page.keyboard.press("Enter")
    page.wait_for_url("**/pipeline/**")


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


def test_an_unknown_address_leads_home(open_page: Opener) -> None:
    page = open_page("nowhere/at-all/")
    assert page.locator("h1").inner_text() == "There is no page here"
    page.locator("article a").first.click()
    page.wait_for_load_state()
    assert page.locator("h1").count() == 1
    assert "nowhere" not in page.url
