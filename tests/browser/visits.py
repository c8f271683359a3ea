"""Pages of the site in windows that stay open, since a new window costs a page's loading twice over.

Who only looks shares one window for each look, and a page is loaded once for all that is asked of it in a row. Who
types or presses has another window, and loads the page anew in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Generator

    from playwright.sync_api import Browser, Page

WIDE, PHONE = 1280, 390
POLICY = "Content Security Policy"
# Folds and tabs hide what they hold: open every fold, and show every pane of every tab set at once.
REVEAL = """() => {
  for (const fold of document.querySelectorAll("details")) fold.open = true
  for (const pane of document.querySelectorAll(".tabbed-block")) pane.style.display = "block"
}"""
# What a test that acts changes, and what no page changes by itself once it is loaded.
STATE = """() => ({
  address: location.href,
  folds: [...document.querySelectorAll("details")].map(fold => fold.open).join(),
  chosen: [...document.querySelectorAll(":checked")].map(input => input.id).join(),
  typed: [...document.querySelectorAll("input:not([type=radio], [type=checkbox])")].map(input => input.value).join(),
  focus: document.activeElement?.outerHTML.slice(0, 80),
  kept: JSON.stringify([localStorage, sessionStorage]),
  elements: document.querySelectorAll("article *").length,
})"""


@dataclass(frozen=True)
class Look:
    """How a page is looked at. Nothing moves, so that what is seen is what stays."""

    width: int = WIDE
    scheme: Literal["light", "dark"] = "light"
    javascript: bool = True


@dataclass
class Window:
    """A window that stays open.

    Attributes:
        page: What it shows.
        path: Which page of the site that is; none before the first.
        opened: Whether all of its folds and tabs have been opened.
        blocked: What the policy of the page has blocked since it was loaded.
    """

    page: Page
    path: str = ""
    opened: bool = False
    blocked: list[str] = field(default_factory=list)

    def load(self, address: str, path: str) -> None:
        """Load a page as if for the first time, but for the files that the browser has by now."""
        context = self.page.context
        if self.page.url != "about:blank":
            self.page.evaluate("() => { localStorage.clear(); sessionStorage.clear() }")
            self.page.mouse.move(0, 0)
            context.clear_cookies()
            context.clear_permissions()
        self.path, self.opened = path, False
        self.blocked.clear()
        self.page.goto(f"{address}/{path}", wait_until="load")


@dataclass
class Visits:
    """The windows, by their look and by whether the page in them is acted upon."""

    browser: Browser
    address: str
    windows: dict[tuple[Look, bool], Window] = field(default_factory=dict)

    def show(self, path: str, look: Look, *, opened: bool) -> Window:
        """Show a page to who only looks: it is loaded if it is not there, or no more as it is asked for."""
        window = self._find(look, acts=False)
        if window.path != path or (window.opened and not opened):
            self._load(window, path)
        if opened and not window.opened:
            window.page.evaluate(REVEAL)
            window.opened = True
        return window

    def load(self, path: str, look: Look) -> Window:
        """Load a page for who acts."""
        window = self._find(look, acts=True)
        self._load(window, path)
        return window

    def close(self) -> None:
        """Close every window."""
        for window in self.windows.values():
            window.page.context.close()
        self.windows.clear()

    def _find(self, look: Look, *, acts: bool) -> Window:
        if (look, acts) not in self.windows:
            context = self.browser.new_context(
                viewport={"width": look.width, "height": 900},
                color_scheme=look.scheme,
                java_script_enabled=look.javascript,
                reduced_motion="reduce",
            )
            window = Window(context.new_page())
            window.page.on("console", lambda message: POLICY in message.text and window.blocked.append(message.text))
            self.windows[look, acts] = window
        return self.windows[look, acts]

    def _load(self, window: Window, path: str) -> None:
        try:
            window.load(self.address, path)
        except Exception:
            # A window that crashed shows nothing more: the next test begins with new ones.
            self.close()
            raise


@dataclass
class Looker:
    """Shows pages to one test that only looks, and holds it to that."""

    visits: Visits
    opened: bool
    seen: list[tuple[Window, object]] = field(default_factory=list)

    def __call__(self, path: str, look: Look = Look()) -> Page:
        """Show a page in a look."""
        window = self.visits.show(path, look, opened=self.opened)
        self.seen.append((window, window.page.evaluate(STATE)))
        return window.page

    def check(self) -> None:
        """Assert that the test left every page as it found it, and that the policy of none blocked anything."""
        for window, before in self.seen:
            blocked, path, after = list(window.blocked), window.path, window.page.evaluate(STATE)
            if after != before:
                window.path = ""
            assert after == before, f"a test that only looks has changed {path}"
            assert blocked == [], path


def look(visits: Visits, *, opened: bool) -> Generator[Looker]:
    """Show pages to one test, with every fold and tab open or as they load."""
    looker = Looker(visits, opened)
    yield looker
    looker.check()
