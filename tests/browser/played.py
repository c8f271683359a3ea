"""A playground in a browser: the program that it is begun with, and how it is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Error

from measuring.trial_server import Playground, play

from .waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import BrowserContext, Page, Route

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


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    """A playground of a file of the reader's; what is edited stays in a browser."""
    folder = tmp_path_factory.mktemp("play")
    (folder / "mixed.py").write_text(PROGRAM)
    with play("mixed.py:mixed", folder=folder) as started:
        yield started


def choose_cpu(route: Route) -> None:
    """Let a page begin with one target, which takes least."""
    try:
        answer = route.fetch()
    except Error:  # the server ended
        route.abort()
    else:
        route.fulfill(response=answer, json={**answer.json(), "targets": ["cpu"]})


def open_play(server: Playground, context: BrowserContext, link: str = "") -> Page:
    """Open the playground for the CPU and wait for its first result."""
    context.route("**/start", choose_cpu)
    page = context.new_page()
    page.on("pageerror", lambda error: pytest.fail(f"the page failed: {error}"))
    page.goto(f"{server.address}/{link}")
    if not link:
        wait_until(page, SETTLED, seconds=PATIENCE)
    return page
