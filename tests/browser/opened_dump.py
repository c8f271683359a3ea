"""The page that opens a dump, loaded once for several tests or again for one test."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from maintaining.pyodide_bundle import PYODIDE

from . import opening
from .host import serve
from .visits import WIDE
from .waiting import PATIENCE, wait_for_rest, wait_until

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from playwright.sync_api import Browser, Page, Request

    from .host import Site

READY = "() => openDump.pending === 0"
HLO = (
    "HloModule jit_add, is_scheduled=true\n\n"
    "ENTRY main {\n  x = f32[4]{0} parameter(0)\n  ROOT y = f32[4]{0} add(x, x)\n}\n"
)


@dataclass
class Opened:
    """The page that opens a dump, with its requests and errors, and a method for each action of a user."""

    page: Page
    requests: list[Request] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def give(self, *paths: Path | dict[str, Any]) -> None:
        """Choose files, or a folder, and wait until they are read or rejected."""
        folder = len(paths) == 1 and not isinstance(paths[0], dict) and paths[0].is_dir()
        path = paths[0] if folder else [*paths]
        self.page.locator(f"input[name={'folder' if folder else 'files'}]").set_input_files(path)  # type: ignore[arg-type]
        self.settle()

    def settle(self) -> None:
        """Wait until no work is in progress."""
        wait_until(self.page, READY)
        wait_for_rest(self.page)

    def rows(self) -> list[list[str]]:
        """Return the text of each cell in each row of the table of modules."""
        rows: list[list[str]] = self.page.locator(".modules tbody tr").evaluate_all(
            "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
        )
        return rows

    def open(self, name: str) -> None:
        """Open a module of the table."""
        self.page.locator(".modules td button", has_text=name).click()
        self.page.locator(".module h2", has_text=name).wait_for()
        self.settle()

    def show(self, view: str) -> str:
        """Choose a view, and return its text."""
        self.page.locator(f"#dump-tab-{view}").click()
        self.settle()
        panel_text: str = self.page.locator(f"#dump-panel-{view}").evaluate("panel => panel.textContent")
        return panel_text

    @property
    def first_line(self) -> str:
        """The first sentence of the answer in the visible view."""
        return self.page.locator(".module [role=tabpanel]:not([hidden]) .said").inner_text()

    @property
    def refused(self) -> str:
        """The error message of the page."""
        return self.page.locator(".refused").first.inner_text()


@contextmanager
def visit(browser: Browser, site: Site) -> Generator[Opened]:
    """Go to the page in a new window, and record its requests and errors from the start."""
    context = browser.new_context(viewport={"width": WIDE, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE * 1000)
    page = context.new_page()
    page_driver = Opened(page)
    context.on("request", lambda request: page_driver.requests.append(request))  # noqa: PLW0108 - marked by Playwright
    page.on("pageerror", lambda error: page_driver.faults.append(str(error)))
    page.on("console", lambda message: message.type == "error" and page_driver.faults.append(message.text))
    page.goto(f"{site.address}/{opening.PAGE}", wait_until="load")
    yield page_driver
    context.close()


@pytest.fixture(scope="session")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dump of two functions for the CPU, one of them over four devices."""
    return opening.dump(tmp_path_factory.mktemp("dumped") / "dump")


@pytest.fixture(scope="session")
def dump_site(tmp_path_factory: pytest.TempPathFactory) -> Generator[Site]:
    """A served small site with the page that opens a dump; skips if Python for browsers was not made."""
    if not PYODIDE.is_made():
        pytest.skip(f"{PYODIDE.title} was not made: scripts/maintaining/browser-bundles makes it")
    with serve(opening.build(tmp_path_factory.mktemp("dump_page") / "site")) as served:
        yield served


@pytest.fixture(scope="module")
def dump_page(dump_site: Site, browser: Browser) -> Generator[Opened]:
    """The page that opens a dump, loaded once for these tests; no error may occur on it."""
    with visit(browser, dump_site) as dump_driver:
        yield dump_driver
    assert dump_driver.faults == []


@pytest.fixture
def dump_anew(dump_site: Site, browser: Browser) -> Generator[Opened]:
    """The page that opens a dump, in its initial state."""
    with visit(browser, dump_site) as dump_driver:
        yield dump_driver
