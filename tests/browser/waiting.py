"""Waiting for what a page is to become."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

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


def wait_for(page: Page, condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Wait until a condition holds that Playwright's events decide, such as a request that failed.

    Raises:
        TimeoutError: It does not hold in time.
    """
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(condition.__name__)
        page.evaluate("0")  # lets Playwright's events arrive


def wait_for_rest(page: Page) -> None:
    """Wait until no animation runs any more and the page has been drawn twice."""
    page.evaluate(
        """async () => {
          const ends = document.getAnimations().filter(it => it.effect.getComputedTiming().iterations !== Infinity)
          await Promise.allSettled(ends.map(it => it.finished))
          for (let drawn = 0; drawn < 2; drawn++) await new Promise(requestAnimationFrame)
        }"""
    )
