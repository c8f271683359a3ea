"""Nothing of an edit is lost, whatever ends: the window, its process, or the server."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Error

from measuring.trial_server import Playground, play

from .played import PATIENCE, PROGRAM, SETTLED, TEXT, open_play
from .visits import WIDE
from .waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser that has kept nothing."""
    opened = browser.new_context(
        viewport={"width": WIDE, "height": 900}, permissions=["clipboard-read", "clipboard-write"]
    )
    yield opened
    opened.close()


@pytest.mark.long("otherwise one link, one end and one look stand for all", but=["close"])
@pytest.mark.parametrize("how", ["close", "reload", "leave", "crash"])
def test_closing_and_opening_again_loses_nothing(server: Playground, context: BrowserContext, how: str) -> None:
    page = open_play(server, context)
    page.locator(".cm-content").focus()
    page.keyboard.press("Control+End")
    for turn in range(2):
        page.keyboard.type(f"# edit {turn} é λ")
        text = page.evaluate(TEXT)
        if how == "reload":
            page.reload()
        elif how == "leave":
            page.goto("about:blank")
            page.go_back()
        else:
            if how == "crash":
                with contextlib.suppress(Error):  # a page that crashes answers nothing
                    page.goto("chrome://crash", timeout=2000)
            page.close()
            page = context.new_page()
            page.goto(server.address)
        page.wait_for_selector(".cm-content")
        wait_until(page, "() => Boolean(globalThis.xlaExplorer.playground)")
        assert page.evaluate(TEXT) == text
        page.locator(".cm-content").focus()
        page.keyboard.press("Control+End")


def test_two_windows_lose_neither_text(server: Playground, context: BrowserContext) -> None:
    one, two = open_play(server, context), open_play(server, context)
    for page, words in ((one, "# the first window\n"), (two, "# the second window\n")):
        page.bring_to_front()
        page.locator(".cm-content").focus()
        page.keyboard.press("Control+Home")
        page.keyboard.type(words)
        page.wait_for_timeout(600)
    texts = {page.evaluate(TEXT) for page in (one, two)}
    one.close()
    two.close()
    page = open_play(server, context)
    drafts = page.evaluate("() => xlaExplorer.playground.drafts.read()")
    assert texts <= {drafts["now"]["code"], *(each["code"] for each in drafts["earlier"])}


def test_a_server_that_ends_is_told_and_one_that_begins_again_is_used(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "mixed.py").write_text(PROGRAM)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    context = browser.new_context()
    with play("mixed.py:mixed", "--port", port, folder=tmp_path) as server:
        page = open_play(server, context)
    page.locator(".cm-content").focus()
    page.keyboard.press("Control+Home")
    page.keyboard.type("# typed while no server runs\n")
    page.locator("#problems li[data-kind=server], #notices .notice").first.wait_for(timeout=PATIENCE * 1000)
    text = page.evaluate(TEXT)
    assert text.startswith("# typed while no server runs\n")
    with play("mixed.py:mixed", "--port", port, folder=tmp_path):
        page.keyboard.type("# and after\n")
        text = page.evaluate(TEXT)
        said = "['#notices', '#problems'].some((it) => /load|again/i.test(document.querySelector(it).innerText))"
        wait_until(page, f"() => {said} || ({SETTLED})()", seconds=PATIENCE)
        if not page.evaluate(SETTLED):
            page.reload()
        wait_until(page, SETTLED, seconds=PATIENCE)
        assert page.evaluate(TEXT) == text
    context.close()
