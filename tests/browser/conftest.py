"""The fixtures of the browser tests: the built site on a compressing server, and one shared Chromium.

A test takes pages by the name `page_path`, so a chapter that is added is covered without a new test. It loads a page by
`open_anew`, in a window that other tests use too; or by `open_page` where it changes its window. An eighth of the pages
have their turn for each commit (`tests/turns.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect, sync_playwright
from tests import turns

from programs import layer as small
from programs import transformer_block as large
from xla_inspect import capture_all
from xla_inspect.report.explorer import write_report

from . import asking, node
from .host import Site, serve
from .opened_dump import dump, dump_anew, dump_page, dump_site  # noqa: F401 - fixtures of the page that opens a dump
from .played import server  # noqa: F401 - a fixture of the tests of the playground
from .visits import POLICY, WIDE, Look, Visits
from .waiting import PATIENCE, wait_for_rest, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from playwright.sync_api import Browser, BrowserContext, BrowserType, Locator, Page

    from xla_inspect import Captures

    from .node import RunNode

DOCS = Path(__file__).resolve().parents[2] / "docs"
# A browser that talks to nobody but the page.
QUIET = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
)
CHAPTER = "pipeline/index.html"  # has everything that a page may have
ROOT = "const root = document.querySelector('#explorer').shadowRoot;"
expect.set_options(timeout=PATIENCE * 1000)


def lacks(page_path: str, missing: object) -> bool:
    """Return whether `missing`, the elements that a test found, is empty; assert that on `CHAPTER` it is not."""
    assert missing or page_path != CHAPTER, "nothing was found on the page that has everything"
    return not missing


type Opener = Callable[..., Page]
"""A function that opens a page of the site in a new window, by its path, with options of its context."""

type Anew = Callable[..., Page]
"""A function that loads a page of the site anew, by its path and optionally a `Look`."""

type Show = Callable[..., Opened]
"""A function that writes the explorer of captures into a file, and opens it in its own window."""


def sources() -> dict[str, Path]:
    """Return the Markdown file or the notebook of each page, by the page's path in the built site."""
    source_texts = {}
    for path in sorted([*DOCS.rglob("*.md"), *DOCS.rglob("*.py")]):
        below = path.relative_to(DOCS)
        plain = below.with_suffix("") if below.stem != "index" else below.parent
        source_texts[(plain / "index.html").as_posix()] = path
    return source_texts


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test that takes `page_path` the pages that `--page` named, or those whose turn it is, and `CHAPTER`."""
    if "page_path" in metafunc.fixturenames:
        requested = [Path(page).resolve() for page in metafunc.config.getoption("--page")]
        chosen = requested or turns.choose([*sources().values()])
        pages = [path for path, source in sources().items() if source in chosen or (path == CHAPTER and not requested)]
        metafunc.parametrize("page_path", pages if requested else [*pages, "404.html"])


@pytest.fixture(scope="session")
def layer() -> Captures:
    """The captures of the dense layer for the usual targets."""
    return capture_all(small.layer, *small.EXAMPLE)


@pytest.fixture(scope="session")
def block() -> Captures:
    """The captures of the transformer block for the usual targets."""
    return capture_all(large.transformer_block, *large.EXAMPLE)


@pytest.fixture(scope="session")
def page_paths() -> list[str]:
    """The path of every page that the site must have, including 404.html."""
    return [*sources(), "404.html"]


@pytest.fixture(scope="session")
def site(built_site: Path) -> Generator[Site]:
    """The built site, served on this machine."""
    with serve(built_site) as served:
        yield served


@pytest.fixture(scope="session")
def run_node(root: Path) -> RunNode:
    """A function that runs programs next to the pinned npm packages."""
    return node.prepare(root)


@pytest.fixture(scope="session")
def chromiums() -> Generator[BrowserType]:
    """Playwright's Chromium, started once, because one process cannot run two Playwright instances."""
    with sync_playwright() as playwright:
        yield playwright.chromium


@pytest.fixture(scope="session")
def browser(chromium: str, chromiums: BrowserType) -> Generator[Browser]:
    """One Chromium for the whole run."""
    launched = chromiums.launch(executable_path=chromium, args=QUIET)
    yield launched
    launched.close()


@pytest.fixture(scope="session")
def windows(site: Site, browser: Browser) -> Generator[Visits]:
    """The windows that stay open for several tests."""
    opened = Visits(browser, site.address)
    yield opened
    opened.close()


@pytest.fixture
def open_anew(windows: Visits) -> Generator[Anew]:
    """A function that loads pages as on a first visit, in windows that tests share; their policy must block nothing."""
    loaded = []

    def open_anew(path: str, look: Look = Look()) -> Page:  # noqa: B008 - it is frozen
        loaded.append(windows.load(path, look))
        return loaded[-1].page

    yield open_anew
    assert [window.blocked for window in loaded if window.blocked] == []


@pytest.fixture
def open_page(site: Site, browser: Browser) -> Generator[Opener]:
    """A function that opens pages, each in its own context until the test ends; their policy must block nothing."""
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


@pytest.fixture(scope="session")
def asked_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built small site with predictions and terms: the folder `site` and its sources."""
    folder = tmp_path_factory.mktemp("asked")
    asking.build(folder)
    return folder


@pytest.fixture(scope="session")
def asked_address(asked_folder: Path) -> Generator[str]:
    """The address of the served small site."""
    with serve(asked_folder / "site") as served:
        yield served.address


@pytest.fixture
def asked_context(browser: Browser, request: pytest.FixtureRequest) -> Generator[BrowserContext]:
    """A browser context without stored data, with the options of a test."""
    options = {"viewport": {"width": WIDE, "height": 900}, "reduced_motion": "reduce", **getattr(request, "param", {})}
    context = browser.new_context(**options)
    yield context
    context.close()


@pytest.fixture
def asked_page(asked_context: BrowserContext, asked_address: str) -> Generator[Page]:
    """The page with predictions of the small site; its policy blocks nothing, and no script of it fails."""
    page = asked_context.new_page()
    blocked: list[str] = []
    faults: list[str] = []
    page.on("console", lambda message: blocked.extend([message.text] * (POLICY in message.text)))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(f"{asked_address}/asked/index.html", wait_until="load")
    yield page
    assert blocked + faults == []


@dataclass
class Opened:
    """The explorer on a page of the browser, with a method for each action of a user."""

    page: Page

    def inside(self, body: str) -> Any:  # noqa: ANN401 - whatever a script returns
        """Run JavaScript statements on `root`, the explorer's shadow root, and return their value."""
        return self.page.evaluate(f"() => {{ {ROOT} {body} }}")

    def await_inside(self, expression: str) -> None:
        """Wait until a JavaScript expression with `root` is true."""
        wait_until(self.page, f"() => {{ {ROOT} return {expression} }}")

    @property
    def status(self) -> str:
        """The text of the status line."""
        return self.page.locator(".status").inner_text()

    @property
    def pane(self) -> Locator:
        """The locator of the element that shows the chosen view."""
        return self.page.locator(".pane")

    def choose(self, name: str) -> None:
        """Choose a target or a view by the value of its radio button."""
        self.page.locator(f'.choice input[value="{name}"]').check()

    def choose_line(self, place: str) -> None:
        """Press the line of Python at `file:line`, and wait until the status line names it."""
        file, _, line = place.rpartition(":")
        section = self.page.locator(".source .file", has=self.page.locator(".named", has_text=file))
        section.locator(f'li[data-number="{line}"] > button.line').click()
        wait_until(
            self.page,
            "place => document.querySelector('#explorer').shadowRoot.querySelector('.status b')?.textContent === place",
            place,
        )

    def settle(self) -> None:
        """Wait until the last action has had its effect and a long listing is drawn completely."""
        wait_for_rest(self.page)
        wait_until(self.page, "!globalThis.xlaExplorer?.pending()")

    def texts(self, selector: str) -> list[str]:
        """Return the visible text of each line of the view that a selector finds."""
        script = """lines => lines.map(line => [...line.childNodes]
          .filter(node => !node.classList?.contains("hidden")).map(node => node.textContent).join(""))"""
        self.settle()
        elements: list[str] = self.pane.locator(selector).evaluate_all(script)
        return elements


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Generator[Show]:
    """A function that writes the explorer of captures into a file, and opens it in its own window."""
    opened = []

    def show(
        captures: Captures,
        link: str = "",
        donated: Captures | None = None,
        times: Path | None = None,
        numbers: Mapping[str, Any] | None = None,
        **options: object,
    ) -> Opened:
        path = tmp_path / "report.html"
        path.write_text(write_report(captures, donated, times, numbers=numbers), encoding="utf-8")
        context = browser.new_context(**{"viewport": {"width": WIDE, "height": 900}, **options})  # type: ignore[arg-type]
        opened.append(context)
        window = context.new_page()
        window.on("pageerror", lambda error: pytest.fail(f"the page failed: {error}"))
        window.goto(f"{path.as_uri()}{link and '#'}{link}")
        explorer = Opened(window)
        if options.get("java_script_enabled", True):
            explorer.settle()
        return explorer

    yield show
    for context in opened:
        context.close()
