"""Waits for the state of a page: no browser test waits a fixed time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from playwright.sync_api import Error

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

PATIENCE = 90
"""Seconds that a test waits for a state, where other work shares the machine."""


def wait_until(page: Page, expression: str, arg: object = None, seconds: float = PATIENCE) -> None:
    """Wait until an expression holds on a page, which may load another document meanwhile.

    Playwright's own `wait_for_function` evaluates a string in the page, which the site's policy refuses.

    Raises:
        TimeoutError: It does not hold in time.
    """

    def holds() -> bool:
        return bool(page.evaluate(expression, arg))

    holds.__name__ = expression
    wait_for(page, holds, seconds)


def wait_for(page: Page, condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Wait until a condition holds that a page or Playwright's events decide, such as a request that failed.

    Raises:
        TimeoutError: It does not hold in time.
    """
    end, failure = time.monotonic() + seconds, None
    while True:
        try:
            if condition():
                return
            page.evaluate("0")  # lets Playwright's events arrive
        except Error as error:  # the document is being replaced, or its scripts have not run yet
            failure = error
        if time.monotonic() > end:
            raise TimeoutError(condition.__name__) from failure
        time.sleep(0.02)


def expect_value(page: Page, read_value: Callable[[], Any], expected: object) -> None:
    """Assert that a value read from a page becomes the expected value."""
    try:
        wait_for(page, lambda: bool(read_value() == expected))
    except TimeoutError:
        assert read_value() == expected


def pass_time(page: Page, seconds: float) -> None:
    """Let time pass on a page whose clock is installed, and wait until the requests that it sent then are known."""
    page.clock.run_for(seconds * 1000)
    page.evaluate("() => fetch(location.pathname, { cache: 'no-store' }).then((it) => it.text())")


def wait_for_rest(page: Page) -> None:
    """Wait until no animation runs any more and the page has been drawn twice."""
    page.evaluate(
        """async () => {
          const ends = document.getAnimations().filter(it => it.effect.getComputedTiming().iterations !== Infinity)
          await Promise.allSettled(ends.map(it => it.finished))
          for (let drawn = 0; drawn < 2; drawn++) await new Promise(requestAnimationFrame)
        }"""
    )
