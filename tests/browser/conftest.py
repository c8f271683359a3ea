"""The built site, behind a small server that compresses, in one Chromium that all of these tests share.

Each test takes a page of its own by the name `page_path`, so a chapter that is added is covered without a new test.
"""

from __future__ import annotations

import gzip
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from mimetypes import guess_type
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest
from playwright.sync_api import sync_playwright

from programs import layer as small
from programs import transformer_block as large
from xla_inspect import capture_all
from xla_inspect.report.explorer import write_report

from . import node
from .waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Generator

    from playwright.sync_api import Browser, BrowserContext, Locator, Page

    from xla_inspect import Captures

    from .node import RunNode

DOCS = Path(__file__).resolve().parents[2] / "docs"
WIDE, PHONE = 1280, 390
# A browser that talks to nobody but the page.
QUIET = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
)
COMPRESSED = ("text/", "application/json", "image/svg+xml")


@dataclass
class Site:
    """A served site.

    Attributes:
        folder: Where its files lie.
        address: Where it is served, without a slash at the end.
        sent: Path and size in bytes of every answer, in order, headers not counted.
    """

    folder: Path
    address: str = ""
    sent: list[tuple[str, int]] = field(default_factory=list)

    @property
    def html(self) -> list[str]:
        """Every page, as its path below the site's root."""
        return sorted(path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*.html"))


POLICY = "Content Security Policy"
CHAPTER = "pipeline/index.html"  # has everything that a page may have


def lacks(page_path: str, found: object) -> bool:
    """Return whether a page has nothing of what a test looks at, so that all of it is as it must be."""
    assert found or page_path != CHAPTER, "nothing was found on the page that has everything"
    return not found


# Folds and tabs hide what they hold: open every fold, and show every pane of every tab set at once.
REVEAL = """() => {
  for (const fold of document.querySelectorAll("details")) fold.open = true
  for (const pane of document.querySelectorAll(".tabbed-block")) pane.style.display = "block"
}"""


class Revealer(Protocol):
    """Shows what a page hides in folds and tabs."""

    def __call__(self, page: Page) -> None: ...


class Opener(Protocol):
    """Opens a page of the site in a new window, by its path."""

    def __call__(self, path: str, **options: object) -> Page: ...


class Show(Protocol):
    """Writes the explorer of captures into a file, and opens it in a window of its own."""

    def __call__(
        self,
        captures: Captures,
        link: str = "",
        donated: Captures | None = None,
        times: Path | None = None,
        **options: object,
    ) -> Opened: ...


def sources() -> dict[str, Path]:
    """Return the Markdown file or the notebook of each page, by the page's path in the built site."""
    found = {}
    for path in sorted([*DOCS.rglob("*.md"), *DOCS.rglob("*.py")]):
        below = path.relative_to(DOCS)
        plain = below.with_suffix("") if below.stem != "index" else below.parent
        found[(plain / "index.html").as_posix()] = path
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test that takes `page_path` each page of the site, or those that `--page` named."""
    if "page_path" in metafunc.fixturenames:
        chosen = [Path(page).resolve() for page in metafunc.config.getoption("--page")]
        pages = [path for path, source in sources().items() if not chosen or source in chosen]
        metafunc.parametrize("page_path", pages if chosen else [*pages, "404.html"])


@pytest.fixture(scope="session")
def layer() -> Captures:
    """The dense layer for the usual targets."""
    return capture_all(small.layer, *small.EXAMPLE)


@pytest.fixture(scope="session")
def block() -> Captures:
    """The transformer block for the usual targets."""
    return capture_all(large.transformer_block, *large.EXAMPLE)


@pytest.fixture(scope="session")
def page_paths() -> list[str]:
    """Every page that the site must have."""
    return [*sources(), "404.html"]


@pytest.fixture(scope="session")
def site(built_site: Path) -> Generator[Site]:
    """The built site, served on this machine."""
    with serve(built_site) as served:
        yield served


@contextmanager
def serve(folder: Path) -> Generator[Site]:
    """Serve a built site on this machine."""
    served = Site(folder)
    with _Server(("127.0.0.1", 0), _handler(served)) as server:
        served.address = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield served
        server.shutdown()


@pytest.fixture(scope="session")
def run_node(root: Path) -> RunNode:
    """Run programs beside the pinned npm packages."""
    return node.prepare(root)


@pytest.fixture(scope="session")
def browser(chromium: str) -> Generator[Browser]:
    """One Chromium for the whole run."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=QUIET)
        yield launched
        launched.close()


@pytest.fixture
def reveal() -> Revealer:
    """Show everything that a page hides."""

    def reveal(page: Page) -> None:
        page.evaluate(REVEAL)

    return reveal


@pytest.fixture
def open_page(site: Site, browser: Browser) -> Generator[Opener]:
    """Open pages, each in a context of its own that is closed after the test; their policy must block nothing."""
    contexts: list[BrowserContext] = []
    blocked: list[str] = []

    def open_page(path: str, **options: object) -> Page:
        context = browser.new_context(**{"viewport": {"width": WIDE, "height": 900}, **options})  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: POLICY in message.text and blocked.append(message.text))
        page.goto(f"{site.address}/{path}", wait_until="load")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert blocked == []


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Report what went wrong, but not that a page was closed while it was being sent."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # handed on as it came


def _handler(site: Site) -> type[BaseHTTPRequestHandler]:
    packed: dict[Path, bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = site.folder / self.path.partition("?")[0].lstrip("/")
            path = path / "index.html" if path.is_dir() else path
            status = HTTPStatus.OK if path.is_file() else HTTPStatus.NOT_FOUND
            if status == HTTPStatus.NOT_FOUND:
                path = site.folder / "404.html"
            kind = guess_type(path)[0] or "application/octet-stream"
            compress = kind.startswith(COMPRESSED)
            if path not in packed:
                content = path.read_bytes()
                packed[path] = gzip.compress(content, 9) if compress else content
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8" if compress else kind)
            self.send_header("Content-Length", str(len(packed[path])))
            if compress:
                self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            self.wfile.write(packed[path])
            site.sent.append((self.path, len(packed[path])))

        def log_message(self, *_: object) -> None:
            """Say nothing: the tests say what matters."""

    return Handler


@dataclass
class Opened:
    """An explorer in a browser."""

    page: Page

    @property
    def status(self) -> str:
        """What the status line says."""
        return self.page.locator(".status").inner_text()

    @property
    def pane(self) -> Locator:
        """What the chosen view shows."""
        return self.page.locator(".pane")

    def choose(self, name: str) -> None:
        """Choose a target or a view by the value of its radio button."""
        self.page.locator(f'.choice input[value="{name}"]').check()

    def choose_line(self, place: str) -> None:
        """Press the line of Python at `file:line`."""
        file, _, line = place.rpartition(":")
        section = self.page.locator(".source .file", has=self.page.locator(".named", has_text=file))
        section.locator("li").nth(int(line) - 1).locator("button").click()
        wait_until(
            self.page,
            "place => document.querySelector('#explorer').shadowRoot.querySelector('.status b')?.textContent === place",
            place,
        )

    def settle(self) -> None:
        """Wait until a long listing is drawn whole."""
        wait_until(self.page, "!globalThis.xlaExplorer.pending()")

    def texts(self, selector: str) -> list[str]:
        """Return the text of each line of the view that a selector finds, without what only a screen reader says."""
        script = """lines => lines.map(line => [...line.childNodes]
          .filter(node => !node.classList?.contains("hidden")).map(node => node.textContent).join(""))"""
        self.settle()
        found: list[str] = self.pane.locator(selector).evaluate_all(script)
        return found


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Generator[Show]:
    """Write the explorer of captures into a file, and open it in a window of its own."""
    opened = []

    def show(
        captures: Captures,
        link: str = "",
        donated: Captures | None = None,
        times: Path | None = None,
        **options: object,
    ) -> Opened:
        path = tmp_path / "report.html"
        path.write_text(write_report(captures, donated, times), encoding="utf-8")
        context = browser.new_context(**{"viewport": {"width": WIDE, "height": 900}, **options})  # type: ignore[arg-type]
        opened.append(context)
        window = context.new_page()
        window.on("pageerror", lambda error: pytest.fail(f"the page failed: {error}"))
        window.goto(f"{path.as_uri()}{link and '#'}{link}")
        return Opened(window)

    yield show
    for context in opened:
        context.close()
