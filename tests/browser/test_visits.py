"""Tests share windows, and none sees what another did: who only looks changes nothing, who acts begins anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .host import Site, serve
from .visits import Look, Looker, Visits

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = pytest.mark.long("it tests the tests' own tools")

PAGE = """<!DOCTYPE html><title>A</title><article><details><summary>More</summary><p id="in">in</p></details>
<div class="tabbed-block" style="display: none" id="pane">pane</div><input id="box" type="checkbox"><input id="line">
<a href="#in" id="link">in</a></article>"""
POLICY = '<meta http-equiv="Content-Security-Policy" content="img-src \'none\'"><img src="b.png">'
STAND = "() => [document.querySelector('details').open, document.querySelector('#pane').checkVisibility()]"


@pytest.fixture
def pages(tmp_path: Path) -> Generator[Site]:
    """Two small pages, and one that breaks its own policy."""
    for name in ("a", "b", "404"):
        (tmp_path / f"{name}.html").write_text(PAGE, encoding="utf-8")
    (tmp_path / "blocked.html").write_text(POLICY + PAGE, encoding="utf-8")
    with serve(tmp_path) as served:
        yield served


@pytest.fixture
def visits(pages: Site, browser: Browser) -> Generator[Visits]:
    """Windows on these pages."""
    opened = Visits(browser, pages.address)
    yield opened
    opened.close()


def loads(pages: Site, name: str) -> int:
    """Return how often a page was sent."""
    return sum(path == f"/{name}" for path, _ in pages.sent)


def test_a_page_is_loaded_once_for_all_who_look_at_it_and_anew_for_who_acts(visits: Visits, pages: Site) -> None:
    at, into = Looker(visits, opened=False), Looker(visits, opened=True)
    assert at("a.html").evaluate(STAND) == at("a.html").evaluate(STAND) == [False, False]
    assert into("a.html").evaluate(STAND) == [True, True]
    assert loads(pages, "a.html") == 1
    assert at("a.html").evaluate(STAND) == [False, False]
    assert loads(pages, "a.html") == 2
    visits.load("a.html", Look())
    visits.load("a.html", Look())
    assert loads(pages, "a.html") == 4


def test_each_look_has_a_window_of_its_width_and_scheme(visits: Visits) -> None:
    at = Looker(visits, opened=False)
    shown = "() => [innerWidth, matchMedia('(prefers-color-scheme: dark)').matches]"
    assert [at("a.html", look).evaluate(shown) for look in (Look(), Look(390, "dark"))] == [[1280, False], [390, True]]


@pytest.mark.parametrize(
    "act",
    [
        "() => { document.querySelector('details').open = true }",
        "() => document.querySelector('#box').click()",
        "() => { document.querySelector('#line').value = 'fusion' }",
        "() => document.querySelector('#line').focus()",
        "() => document.querySelector('#link').click()",
        "() => localStorage.setItem('scheme', 'dark')",
        "() => document.querySelector('article').append(document.createElement('p'))",
    ],
)
def test_who_only_looks_fails_when_it_leaves_a_trace_and_the_next_begins_anew(
    visits: Visits, pages: Site, act: str
) -> None:
    at = Looker(visits, opened=False)
    at("a.html").evaluate(act)
    with pytest.raises(AssertionError, match=r"a test that only looks has changed a\.html"):
        at.check()
    following = Looker(visits, opened=False)
    assert following("a.html").evaluate("() => [location.hash, localStorage.length]") == ["", 0]
    following.check()
    assert loads(pages, "a.html") == 2


def test_what_one_test_did_the_next_that_acts_does_not_see(visits: Visits) -> None:
    page = visits.load("a.html", Look()).page
    page.context.grant_permissions(["clipboard-read"])
    page.locator("#line").fill("fusion")
    page.evaluate("() => { localStorage.setItem('a', 'b'); sessionStorage.setItem('a', 'b'); document.cookie = 'a=b' }")
    found = """async () => [document.querySelector('#line').value, localStorage.length, sessionStorage.length,
      document.cookie, (await navigator.permissions.query({ name: 'clipboard-read' })).state === 'granted']"""
    assert page.evaluate(found) == ["fusion", 1, 1, "a=b", True]
    assert visits.load("b.html", Look()).page.evaluate(found) == ["", 0, 0, "", False]


def test_what_a_policy_blocked_is_said_to_who_looks_and_to_who_acts(visits: Visits) -> None:
    at = Looker(visits, opened=False)
    at("blocked.html")
    with pytest.raises(AssertionError, match=r"blocked\.html"):
        at.check()
    assert visits.load("blocked.html", Look()).blocked != []
    assert visits.load("a.html", Look()).blocked == []
