"""Windows with a fixed look that stay open, because a new window doubles the time to load a page."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WIDE, PHONE = 1280, 390
POLICY = "Content Security Policy"


@dataclass(frozen=True)
class Look:
    """The look of a page: the width of its window, its color scheme, and whether JavaScript runs."""

    width: int = WIDE
    scheme: Literal["light", "dark"] = "light"
    javascript: bool = True


# Contrast depends on the scheme and layout on the width: two looks show both of each.
LOOKS = (Look(), Look(PHONE, "dark"))


@dataclass
class Window:
    """A window that stays open.

    Attributes:
        page: The page in it.
        blocked: The messages about everything that the policy of the page has blocked since it was loaded.
    """

    page: Page
    blocked: list[str] = field(default_factory=list)

    def load(self, address: str) -> None:
        """Load a page as on a first visit, except for files that the browser has cached."""
        context = self.page.context
        if self.page.url != "about:blank":
            self.page.evaluate("() => { localStorage.clear(); sessionStorage.clear() }")
            self.page.mouse.move(0, 0)
            context.clear_cookies()
            context.clear_permissions()
        self.blocked.clear()
        self.page.goto(address, wait_until="load")


@dataclass
class Visits:
    """The windows of a site in a browser, one for each look, which stay open."""

    browser: Browser
    address: str
    windows: dict[Look, Window] = field(default_factory=dict)

    def load(self, path: str, look: Look = Look()) -> Window:
        """Load a page of the site in the window of a look."""
        if look not in self.windows:
            context = self.browser.new_context(
                viewport={"width": look.width, "height": 900},
                color_scheme=look.scheme,
                java_script_enabled=look.javascript,
                reduced_motion="reduce",
            )
            window = self.windows[look] = Window(context.new_page())
            window.page.on("console", lambda message: POLICY in message.text and window.blocked.append(message.text))
        try:
            self.windows[look].load(f"{self.address}/{path}")
        except Exception:
            # A window that crashed shows nothing more: the next test begins with new ones.
            self.close()
            raise
        return self.windows[look]

    def close(self) -> None:
        """Close every window."""
        for window in self.windows.values():
            window.page.context.close()
        self.windows.clear()
