"""The playground by keyboard, in each color scheme and on a phone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .played import PROGRAM, SETTLED, TEXT, context, enter, open_play, settle, type_at_start
from .test_access import judge
from .visits import PHONE, WIDE
from .waiting import wait_for_rest, wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

    from measuring.trial_server import Playground

# Everything that has the focus, through shadow roots.
FOCUSED = """() => {
  let at = document.activeElement
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement
  const label = at?.getAttribute("aria-label") ?? ""
  return at ? [at.localName, at.className, label, at.textContent.slice(0, 60)].join("|") : ""
}"""
LOOKS = [(scheme, width) for scheme in ("light", "dark") for width in (WIDE, PHONE)]


__all__ = ["context"]  # a fixture


def tab_to(page: Page, name: str, key: str = "Tab") -> None:
    """Press a key, Tab by default, until `name` is in the name of the focused control; fail after 150 times."""
    focused = []
    for _ in range(150):
        page.keyboard.press(key)
        focused.append(page.evaluate(FOCUSED))
        if name in focused[-1]:
            return
    pytest.fail(f"Tab does not come to {name!r}, but to {list(dict.fromkeys(focused))}")


def test_the_keyboard_alone_edits_compiles_steps_compares_and_copies_a_link(
    server: Playground, context: BrowserContext
) -> None:
    page = open_play(server, context)
    tab_to(page, "cm-content")
    page.keyboard.press("Control+Home")
    page.keyboard.press("Control+f")
    page.keyboard.type("jnp.tanh")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    page.keyboard.type("jnp.cos")
    assert "jnp.cos(h)" in page.evaluate(TEXT)
    settle(page)
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert "cm-content" not in page.evaluate(FOCUSED)
    assert page.evaluate(TEXT).count("jnp.cos") == 1

    tab_to(page, "Result beside", "Shift+Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    wait_until(page, "() => globalThis.xlaExplorer.playground.explorer.state.pair !== null")
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
    tab_to(page, "summary|||Share")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Copy a link").wait_for()
    tab_to(page, "Copy a link")
    page.keyboard.press("Enter")
    page.get_by_text("The link is copied").wait_for()
    link = page.evaluate("() => navigator.clipboard.readText()")
    assert link.startswith(f"{server.address}/#")


def widths(page: Page) -> tuple[int, int]:
    """Return the width of the page's content and of the window."""
    widths: list[int] = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    return widths[0], widths[1]


@pytest.mark.long("otherwise one link, one end and one look stand for all", but=["light-1280", "dark-390"])
@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_the_playground_is_accessible_and_does_not_overflow(
    server: Playground, browser: Browser, scheme: str, width: int
) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = open_play(server, context)
    found_by_page = {}

    def look(state: str) -> None:
        wide, room = widths(page)
        assert wide <= room, f"{state}: {wide} px in {room}"
        found_by_page[state] = judge(page, "html")

    look("a result")
    page.locator("#folds").evaluate("it => it.querySelectorAll('details').forEach((each) => (each.open = true))")
    look("arguments and targets")
    for name in ("Start from", "Earlier edits", "Share"):
        page.locator("summary", has_text=name).first.click()
        look(name)
        page.keyboard.press("Escape")
    type_at_start(page, "print('a long line ' * 30)\n1 +\n")
    page.locator("#problems li").first.wait_for()
    look("a fault of syntax")
    page.keyboard.press("Backspace")
    page.keyboard.type(" no_such_name_" + "x" * 120 + "\n")
    wait_until(page, "() => document.querySelector('#problems li[data-kind=loading]')")
    look("a fault of the code")
    enter(page, PROGRAM.replace("jnp.tanh", "jnp.exp"))
    settle(page)
    beside = page.get_by_label("Result beside")
    beside.select_option(index=beside.locator("option:enabled").count() - 1)
    wait_until(page, "() => globalThis.xlaExplorer.playground.explorer.state.pair !== null")
    wait_until(page, "() => globalThis.xlaExplorer.playground.explorer.second?.model && !xlaExplorer.pending()")
    wait_for_rest(page)
    look("two panes")
    context.close()
    violations = [f"{state}: {choice}" for state, listed in found_by_page.items() for choice in listed]
    assert violations == [], "\n".join(violations)


def test_reduced_motion_is_respected(server: Playground, browser: Browser) -> None:
    context = browser.new_context(reduced_motion="reduce")
    page = open_play(server, context)
    type_at_start(page, "# a remark\n")
    moving = """() => {
      const roots = [document, ...[...document.querySelectorAll("*")].map(it => it.shadowRoot).filter(it => it)]
      return roots.flatMap(it => it.getAnimations()).filter(it => !it.effect?.target?.closest?.(".cm-cursorLayer"))
        .filter(it => it.playState === "running" && it.effect.getComputedTiming().duration > 10).length
    }"""
    wait_until(page, f"() => {{ globalThis.moved = (globalThis.moved ?? 0) + ({moving})(); return ({SETTLED})() }}")
    assert page.evaluate("globalThis.moved") == 0
    context.close()
