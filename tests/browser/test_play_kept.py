"""Edits survive the end of the window, of its process and of the server."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Error

from measuring.trial_server import Playground, play

from .played import PROGRAM, SETTLED, TEXT, context, open_play, settle, type_at_start
from .waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext


__all__ = ["context"]  # a fixture
KEPT = "text => xlaExplorer.playground.drafts.read().now?.code === text"


@pytest.mark.long("otherwise one link, one end and one look stand for all", but=["close"])
@pytest.mark.parametrize("how", ["close", "reload", "leave", "crash"])
def test_closing_and_opening_again_loses_nothing(server: Playground, context: BrowserContext, how: str) -> None:
    page = open_play(server, context)
    for turn in range(2):
        before = page.evaluate(TEXT)
        type_at_start(page, f"# edit {turn} é λ\n")
        text = f"# edit {turn} é λ\n{before}"
        wait_until(page, KEPT, text)
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
        wait_until(page, f"text => ({TEXT})() === text", text)


def test_two_windows_lose_neither_text(server: Playground, context: BrowserContext) -> None:
    one, two = open_play(server, context), open_play(server, context)
    for page, words in ((one, "# the first window\n"), (two, "# the second window\n")):
        page.bring_to_front()
        type_at_start(page, words)
        wait_until(page, KEPT, words + PROGRAM)
    one.close()
    two.close()
    page = open_play(server, context)
    drafts = page.evaluate("() => xlaExplorer.playground.drafts.read()")
    assert [entry["code"] for entry in (drafts["now"], drafts["earlier"][0])] == [
        "# the second window\n" + PROGRAM,
        "# the first window\n" + PROGRAM,
    ]


def test_an_ended_server_is_reported_and_a_restarted_one_is_used(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "layer.py").write_text(PROGRAM)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    context = browser.new_context()
    with play("layer.py:layer", "--port", port, folder=tmp_path) as server:
        page = open_play(server, context)
    type_at_start(page, "# typed while no server runs\n")
    page.locator("#problems li[data-kind=server], #notices .notice").first.wait_for()
    with play("layer.py:layer", "--port", port, folder=tmp_path):
        type_at_start(page, "# and after\n")
        text = f"# and after\n# typed while no server runs\n{PROGRAM}"
        notice_shown = (
            "['#notices', '#problems'].some((it) => /load|again/i.test(document.querySelector(it).innerText))"
        )
        wait_until(page, f"() => {notice_shown} || ({SETTLED})()")
        if not page.evaluate(SETTLED):
            page.reload()
        settle(page)
        assert page.evaluate(TEXT) == text
    context.close()
