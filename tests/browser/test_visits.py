"""Tests share windows, and none sees what another did: each begins anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .host import Site, serve
from .visits import LOOKS, Visits
from .waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = pytest.mark.long("it tests the tests' own tools")

PAGE = '<!DOCTYPE html><title>A</title><article><input id="line"></article>'
POLICY = '<meta http-equiv="Content-Security-Policy" content="img-src \'none\'"><img src="b.png">'


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


def test_each_look_has_a_window_of_its_width_and_scheme(visits: Visits) -> None:
    shown = "() => [innerWidth, matchMedia('(prefers-color-scheme: dark)').matches]"
    assert [visits.load("a.html", look).page.evaluate(shown) for look in LOOKS] == [[1280, False], [390, True]]


def test_what_one_test_did_the_next_that_acts_does_not_see(visits: Visits) -> None:
    page = visits.load("a.html").page
    page.context.grant_permissions(["clipboard-read"])
    page.locator("#line").fill("fusion")
    page.evaluate("() => { localStorage.setItem('a', 'b'); sessionStorage.setItem('a', 'b'); document.cookie = 'a=b' }")
    found = """async () => [document.querySelector('#line').value, localStorage.length, sessionStorage.length,
      document.cookie, (await navigator.permissions.query({ name: 'clipboard-read' })).state === 'granted']"""
    assert page.evaluate(found) == ["fusion", 1, 1, "a=b", True]
    assert visits.load("b.html").page.evaluate(found) == ["", 0, 0, "", False]


def test_what_the_policy_of_a_page_blocked_is_known_until_the_next_is_loaded(visits: Visits) -> None:
    window = visits.load("blocked.html")
    wait_for(window.page, lambda: window.blocked != [])
    assert visits.load("a.html").blocked == []
