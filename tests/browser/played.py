"""The playground of one small file, for the CPU only, and the actions that tests perform on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Error

from measuring.trial_server import Playground, play

from .visits import WIDE
from .waiting import PATIENCE, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, BrowserContext, Page, Route

PROGRAM = """import jax
import jax.numpy as jnp

EXAMPLE = (jax.ShapeDtypeStruct((16, 32), jnp.float32), jax.ShapeDtypeStruct((32, 8), jnp.float32))


def layer(x, w):
    h = jax.nn.relu(x @ w)
    return jnp.tanh(h)
"""
# All of what the page would send has been compiled, and its result is the one that is shown.
SETTLED = """() => {
  const { run, request, explorer } = globalThis.xlaExplorer?.playground ?? {}
  return Boolean(run?.isDone && run.key === JSON.stringify(request)
    && [...run.offers.values()].some(({ data }) => data === explorer?.first.model?.data))
}"""
TEXT = "() => globalThis.xlaExplorer.playground.editor.text"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    """A playground of a user's file; edits stay in the browser."""
    folder = tmp_path_factory.mktemp("play")
    (folder / "layer.py").write_text(PROGRAM, encoding="utf-8")
    with play("layer.py:layer", folder=folder) as started:
        yield started
    assert (folder / "layer.py").read_text(encoding="utf-8") == PROGRAM, "the file was written"
    assert [path.name for path in folder.iterdir()] == ["layer.py"]


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser context without stored data."""
    opened = browser.new_context(
        viewport={"width": WIDE, "height": 900}, permissions=["clipboard-read", "clipboard-write"]
    )
    opened.set_default_timeout(PATIENCE * 1000)
    yield opened
    opened.close()


@pytest.fixture
def page(server: Playground, context: BrowserContext) -> Page:
    """The playground with its first result."""
    return open_play(server, context)


def choose_cpu(route: Route) -> None:
    """Let a page start with the CPU as its only target, because that compiles fastest."""
    try:
        answer = route.fetch()
    except Error:  # the server ended
        route.abort()
    else:
        route.fulfill(response=answer, json={**answer.json(), "targets": ["cpu"]})


def open_play(server: Playground, context: BrowserContext) -> Page:
    """Open the playground for the CPU and wait for its first result."""
    context.route("**/start", choose_cpu)
    page = context.new_page()
    page.on("pageerror", lambda error: pytest.fail(f"the page failed: {error}"))
    page.goto(f"{server.address}/")
    settle(page)
    return page


def settle(page: Page) -> None:
    """Wait for the result of the editor's text, after the pause for typing."""
    wait_until(page, SETTLED)


def enter(page: Page, code: str) -> None:
    """Replace the whole text of the editor, as pasting does."""
    page.locator(".cm-content").focus()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(code)
    wait_until(page, "code => globalThis.xlaExplorer.playground.editor.text === code", code)


def write(page: Page, old: str, new: str) -> None:
    """Replace one piece of the code with another."""
    code = page.evaluate(TEXT)
    assert old in code
    enter(page, code.replace(old, new))


def type_at_start(page: Page, text: str) -> None:
    """Type text before the code."""
    page.locator(".cm-content").focus()
    page.keyboard.press("Control+Home")
    page.keyboard.type(text)


def opcodes(page: Page) -> str:
    """Return the lines of the shown jaxpr as one text."""
    lines: list[str] = page.evaluate("() => xlaExplorer.playground.explorer.model.data.jaxpr.map(([text]) => text)")
    return "\n".join(lines)
