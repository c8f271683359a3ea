"""Code from a link is shown and runs only when the user starts it; an invalid link breaks nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from .host import serve
from .played import PROGRAM, TEXT, context, enter, open_play, settle
from .waiting import pass_time, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext

    from measuring.trial_server import Playground


__all__ = ["context"]  # a fixture


def test_a_page_that_this_machine_serves_opens_the_playground_by_a_link(
    server: Playground, context: BrowserContext, tmp_path: Path
) -> None:
    link = f'<a href="{server.address}/" target="_blank" rel="noopener">Edit</a>'
    (tmp_path / "index.html").write_text(f"<!doctype html><title>Served</title>{link}", encoding="utf-8")
    page = context.new_page()
    with serve(tmp_path) as site:
        page.goto(f"{site.address}/index.html")
        with context.expect_page() as opened:
            page.get_by_role("link", name="Edit").click()
        opened.value.wait_for_selector(".cm-content")


def test_code_from_a_link_runs_only_after_confirmation(
    server: Playground, browser: Browser, context: BrowserContext
) -> None:
    page = open_play(server, context)
    code = "print('ran')\n" + PROGRAM.replace("jnp.tanh", "jnp.cosh")
    link = page.evaluate("code => xlaExplorer.packCode({ ...xlaExplorer.playground.request, code })", code)
    receiver = browser.new_context()
    other = receiver.new_page()
    requests: list[str] = []
    other.on("request", lambda request: requests.append(request.url))
    other.clock.install()
    other.goto(f"{server.address}/#{link}")
    runs = other.get_by_role("button", name="Run it")
    runs.wait_for()
    pass_time(other, 10)
    assert other.evaluate(TEXT) == code
    # Not even an edit, a key that compiles or a reload lets it run.
    other.locator(".cm-content").focus()
    other.keyboard.type("# ")
    pass_time(other, 10)
    other.keyboard.press("Control+Enter")
    pass_time(other, 10)
    other.reload()
    runs.wait_for()
    pass_time(other, 10)
    assert [url for url in requests if url.endswith(("/describe", "/compile")) or "play=" in url] == []
    assert other.evaluate(TEXT) == code
    runs.click()
    settle(other)
    expect(other.get_by_text("What the code printed")).to_be_visible()
    receiver.close()


# What was sent has an answer, or nothing was sent, and the page says why.
OVER = """() => xlaExplorer.playground.run?.isDone || document.querySelector("#problems li")
  || xlaExplorer.playground.line.state.textContent.includes("choose a target")"""


@pytest.mark.long("otherwise one link, one end and one look stand for all")
@pytest.mark.parametrize(
    "program",
    [
        {"code": "x", "targets": ["__proto__", "constructor", "no such"], "options": {"flags": {"__proto__": 1}}},
        {"code": "x" * 500_000, "arguments": "y" * 100_000},
        {"code": "x", "look": {"target": {"a": 1}, "view": ["b"]}},
        {"code": "x", "options": {"vmap": "<img src=x onerror=hit=1>", "mesh": {"a": 1}, "donate": "x", "static": 3}},
        {"code": "<script>hit=1</script>", "function": "<img src=x onerror=hit=1>", "arguments": "<b>x: f32[8]</b>"},
        {"v": 99, "code": "x"},
        {"code": 3},
        [],
        None,
        "text",
    ],
    ids=lambda program: repr(program)[:40],
)
def test_an_arbitrary_link_breaks_nothing(server: Playground, context: BrowserContext, program: object) -> None:
    page = open_play(server, context)
    pack = """async program => {
      const text = JSON.stringify(program && typeof program === "object" && !Array.isArray(program)
        ? { v: 1, ...program } : program)
      const packed = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"))
      const bytes = new Uint8Array(await new Response(packed).arrayBuffer())
      return btoa(Array.from(bytes, (it) => String.fromCharCode(it)).join("")).replaceAll("+", "-").replaceAll("/", "_")
    }"""
    link = page.evaluate(pack, program)
    page.evaluate("link => { location.hash = `play=${link}` }", link)
    page.locator("#notices .notice").first.wait_for()
    run = page.get_by_role("button", name="Run it")
    if run.count():
        run.click()
        wait_until(page, OVER)
    assert page.evaluate("globalThis.hit") is None
    assert page.evaluate("({}).polluted") is None
    enter(page, PROGRAM)
