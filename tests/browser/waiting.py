"""Waiting for what a page is to become."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

PATIENCE = 10
"""Seconds that a test waits for what a page is to become."""


def wait_until(page: Page, expression: str, arg: object = None, seconds: float = PATIENCE) -> None:
    """Wait until an expression holds on a page.

    Playwright's own `wait_for_function` evaluates a string in the page, which the site's policy refuses.

    Raises:
        TimeoutError: It does not hold in time.
    """
    end = time.monotonic() + seconds
    while not page.evaluate(expression, arg):
        if time.monotonic() > end:
            raise TimeoutError(expression)
        time.sleep(0.02)
