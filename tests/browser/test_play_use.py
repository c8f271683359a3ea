"""The playground is everyone's: by the keyboard alone, in each look, on a phone; and nothing of an edit is lost."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Error

from measuring.playing import Playground, play

from .test_access import RULES, summary
from .visits import PHONE, WIDE
from .waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Page

PROGRAM = """import jax
import jax.numpy as jnp


def mixed(x, w):
    h = jax.nn.relu(x @ w)
    return jnp.sin(h).sum(axis=1)


EXAMPLE = (jax.ShapeDtypeStruct((16, 32), jnp.float32), jax.ShapeDtypeStruct((32, 8), jnp.float32))
"""
PATIENCE = 60
"""Seconds for an edit, where other work shares the machine."""
SETTLED = """() => {
  const play = globalThis.xlaExplorer?.playground
  return Boolean(play?.run?.isDone && play.run.request.code === play.editor.text && play.explorer?.first?.model)
}"""
TEXT = "() => globalThis.xlaExplorer.playground.editor.text"
# Everything that has the focus, through shadow roots.
FOCUSED = """() => {
  let at = document.activeElement
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement
  return at ? [at.localName, at.className, at.getAttribute("aria-label") ?? "", at.textContent.slice(0, 60)].join("|") : ""
}"""
LOOKS = [(scheme, width) for scheme in ("light", "dark") for width in (WIDE, PHONE)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    """A playground of a file of the reader's."""
    folder = tmp_path_factory.mktemp("play")
    (folder / "mixed.py").write_text(PROGRAM)
    with play("mixed.py:mixed", folder=folder) as started:
        yield started


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser that has kept nothing."""
    opened = browser.new_context(
        viewport={"width": WIDE, "height": 900}, permissions=["clipboard-read", "clipboard-write"]
    )
    yield opened
    opened.close()


def open_play(server: Playground, context: BrowserContext, link: str = "") -> Page:
    """Open the playground and wait for its first result."""
    page = context.new_page()
    page.on("pageerror", lambda error: pytest.fail(f"the page failed: {error}"))
    page.goto(f"{server.address}/{link}")
    if not link:
        wait_until(page, SETTLED, seconds=PATIENCE)
    return page


def tab_to(page: Page, wanted: str, key: str = "Tab") -> None:
    """Go on by Tab to what has a word in its name."""
    seen = []
    for _ in range(150):
        page.keyboard.press(key)
        seen.append(page.evaluate(FOCUSED))
        if wanted in seen[-1]:
            return
    pytest.fail(f"Tab does not come to {wanted!r}, but to {list(dict.fromkeys(seen))}")


def test_the_keyboard_alone_edits_compiles_steps_compares_and_copies_a_link(
    server: Playground, context: BrowserContext
) -> None:
    page = open_play(server, context)
    tab_to(page, "cm-content")
    page.keyboard.press("Control+Home")
    page.keyboard.press("Control+f")
    page.keyboard.type("jnp.sin")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    page.keyboard.type("jnp.cos")
    assert "jnp.cos(h)" in page.evaluate(TEXT)
    wait_until(page, SETTLED, seconds=PATIENCE)
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert "cm-content" not in page.evaluate(FOCUSED)
    assert page.evaluate(TEXT).count("jnp.cos") == 1

    tab_to(page, "Result beside", "Shift+Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    wait_until(page, "() => globalThis.xlaExplorer.playground.explorer.state.pair !== null", seconds=PATIENCE)
    assert page.locator(".cm-deletedChunk, .cm-changedText").count() == 0
    page.keyboard.press("Home")
    wait_until(page, "() => globalThis.xlaExplorer.playground.explorer.state.pair === null")

    page.evaluate("() => globalThis.xlaExplorer.playground.explorer.show({ view: 'passes' })")
    options = page.get_by_role("listbox")
    options.wait_for()
    page.locator("#result").evaluate("it => (it.tabIndex = -1, it.focus())")
    for _ in range(80):
        page.keyboard.press("Tab")
        if options.evaluate("it => it.matches(':focus')"):
            break
    else:
        pytest.fail("Tab does not come to the passes")
    chosen = page.locator('[role="option"][aria-selected="true"]')
    before = chosen.inner_text()
    page.keyboard.press("ArrowDown")
    assert chosen.inner_text() != before

    page.locator("body").evaluate("() => document.activeElement.blur()")
    tab_to(page, "Share")
    page.keyboard.press("Enter")
    tab_to(page, "Copy a link")
    page.keyboard.press("Enter")
    page.get_by_text("The link is copied").wait_for()
    link = page.evaluate("() => navigator.clipboard.readText()")
    assert link.startswith(f"{server.address}/#")


def test_code_of_a_link_is_shown_and_runs_only_when_its_reader_says_so(
    server: Playground, browser: Browser, context: BrowserContext
) -> None:
    page = open_play(server, context)
    code = "print('ran')\n" + PROGRAM.replace("jnp.sin", "jnp.tan")
    link = page.evaluate("code => xlaExplorer.packCode({ ...xlaExplorer.playground.request, code })", code)
    receiver = browser.new_context()
    other = receiver.new_page()
    asked: list[str] = []
    other.on("request", lambda request: asked.append(request.url))
    other.goto(f"{server.address}/#{link}")
    other.get_by_role("button", name="Run it").wait_for()
    other.wait_for_timeout(1500)
    assert other.evaluate(TEXT) == code
    assert [url for url in asked if url.endswith("/compile")] == []
    assert [url for url in asked if "play=" in url] == []
    # Not even an edit, another target or a reload lets it run.
    other.locator(".cm-content").focus()
    other.keyboard.type("# ")
    other.wait_for_timeout(1200)
    other.keyboard.press("Control+Enter")
    other.wait_for_timeout(600)
    other.reload()
    other.wait_for_selector(".cm-content")
    other.wait_for_timeout(1500)
    sent = [url for url in asked if url.endswith("/compile")]
    assert "jnp.tan" not in other.evaluate(TEXT) or sent == []
    other.goto(f"{server.address}/")
    other.goto(f"{server.address}/#{link}")
    other.get_by_role("button", name="Run it").click()
    wait_until(other, SETTLED, seconds=PATIENCE)
    assert other.get_by_text("What the code printed").is_visible()
    receiver.close()


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
def test_a_link_of_anything_breaks_nothing(server: Playground, context: BrowserContext, program: object) -> None:
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
        page.wait_for_timeout(1000)
    assert page.evaluate("globalThis.hit") is None
    assert page.evaluate("({}).polluted") is None
    page.locator(".cm-content").focus()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(PROGRAM)
    assert page.evaluate(TEXT) == PROGRAM


def judge(page: Page) -> list[str]:
    """Return what axe finds, through shadow roots."""
    page.evaluate(Axe().axe_script)
    options = {"runOnly": {"type": "tag", "values": RULES}, "resultTypes": ["violations"]}
    return [summary(each) for each in page.evaluate("async options => (await axe.run(options)).violations", options)]


def widths(page: Page) -> tuple[int, int]:
    """Return how wide what is on the page is, and the page."""
    found: list[int] = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    return found[0], found[1]


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_axe_finds_nothing_and_nothing_runs_out_of_the_page(
    server: Playground, browser: Browser, scheme: str, width: int
) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = open_play(server, context)
    found = {}

    def look(state: str) -> None:
        wide, room = widths(page)
        assert wide <= room, f"{state}: {wide} px in {room}"
        found[state] = judge(page)

    look("a result")
    page.locator("#folds").evaluate("it => it.querySelectorAll('details').forEach((each) => (each.open = true))")
    look("arguments and targets")
    for name in ("Start from", "Earlier edits", "Share"):
        page.locator("summary", has_text=name).first.click()
        look(name)
        page.keyboard.press("Escape")
    page.locator(".cm-content").focus()
    page.keyboard.press("Control+Home")
    page.keyboard.type("print('a long line ' * 30)\n1 +\n")
    page.locator("#problems li").first.wait_for(timeout=PATIENCE * 1000)
    look("a fault of syntax")
    page.keyboard.press("Backspace")
    page.keyboard.type(" no_such_name_" + "x" * 120 + "\n")
    wait_until(page, "() => document.querySelector('#problems li[data-kind=loading]')", seconds=PATIENCE)
    look("a fault of the code")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(PROGRAM.replace("jnp.sin", "jnp.exp"))
    wait_until(page, SETTLED, seconds=PATIENCE)
    beside = page.get_by_label("Result beside")
    beside.select_option(index=beside.locator("option:enabled").count() - 1)
    wait_until(page, "() => globalThis.xlaExplorer.playground.explorer.state.pair !== null", seconds=PATIENCE)
    page.wait_for_timeout(500)
    look("two panes")
    context.close()
    assert {state: each for state, each in found.items() if each} == {}


def test_who_wants_less_motion_sees_none(server: Playground, browser: Browser) -> None:
    context = browser.new_context(reduced_motion="reduce")
    page = open_play(server, context)
    page.locator(".cm-content").focus()
    page.keyboard.press("Control+Home")
    page.keyboard.type("# a remark\n")
    moving = """() => {
      const roots = [document, ...[...document.querySelectorAll("*")].map(it => it.shadowRoot).filter(it => it)]
      return roots.flatMap(it => it.getAnimations()).filter(it => !it.effect?.target?.closest?.(".cm-cursorLayer"))
        .filter(it => it.playState === "running" && it.effect.getComputedTiming().duration > 10).length
    }"""
    seen = []
    for _ in range(20):
        seen.append(page.evaluate(moving))
        page.wait_for_timeout(50)
    context.close()
    assert max(seen) == 0


@pytest.mark.parametrize("how", ["close", "reload", "leave", "crash"])
def test_closing_and_opening_again_loses_nothing(server: Playground, context: BrowserContext, how: str) -> None:
    page = open_play(server, context)
    page.locator(".cm-content").focus()
    page.keyboard.press("Control+End")
    for turn in range(5):
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
                    context.new_cdp_session(page).send("Page.crash")
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
        said = "() => document.querySelector('#notices, #problems').innerText + document.querySelector('#problems').innerText"
        wait_until(page, f"() => /reload|load|again/i.test(({said})()) || ({SETTLED})()", seconds=PATIENCE)
        if not page.evaluate(SETTLED):
            page.reload()
        wait_until(page, SETTLED, seconds=PATIENCE)
        assert page.evaluate(TEXT) == text
    context.close()
