"""The playground of one small file, for the CPU alone, and what a test does to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from measuring.trial_server import Playground, play

from .played import PATIENCE, SETTLED, TEXT, open_play
from .visits import WIDE
from .waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, BrowserContext, Page

PROGRAM = """import jax
import jax.numpy as jnp

EXAMPLE = (jax.ShapeDtypeStruct((16, 32), jnp.float32), jax.ShapeDtypeStruct((32, 8), jnp.float32))


def layer(x, w):
    h = jax.nn.relu(x @ w)
    return jnp.tanh(h)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    """A playground of a file of the reader's, for the CPU alone."""
    folder = tmp_path_factory.mktemp("play")
    (folder / "layer.py").write_text(PROGRAM, encoding="utf-8")
    with play("layer.py:layer", folder=folder) as started:
        yield started
    assert (folder / "layer.py").read_text(encoding="utf-8") == PROGRAM, "the file was written"
    assert [path.name for path in folder.iterdir()] == ["layer.py"]


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser that has kept nothing."""
    opened = browser.new_context(
        viewport={"width": WIDE, "height": 900}, permissions=["clipboard-read", "clipboard-write"]
    )
    yield opened
    opened.close()


@pytest.fixture
def page(server: Playground, context: BrowserContext) -> Page:
    """The playground with its first result."""
    return open_play(server, context)


def settle(page: Page) -> None:
    """Wait for the result of what the editor holds, after the pause."""
    wait_until(page, SETTLED, seconds=PATIENCE)


def write(page: Page, old: str, new: str) -> None:
    """Put one text of the code in the place of another, as who pastes it."""
    code = page.evaluate(TEXT)
    assert old in code
    page.locator(".cm-content").focus()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(code.replace(old, new))


def opcodes(page: Page) -> str:
    """Return the jaxpr of what is shown."""
    lines: list[str] = page.evaluate("() => xlaExplorer.playground.explorer.model.data.jaxpr.map(([text]) => text)")
    return "\n".join(lines)
