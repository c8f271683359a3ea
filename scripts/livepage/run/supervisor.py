"""Let a build run in a child, so that another process says how it ended: one that sees whether the site was finished.

Native code that a page calls may end the process with success at any line, and no site would be there.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

_TWICE = 1.0
"""Seconds within which a second interrupt is the first: a terminal sends it to both processes."""


def supervise() -> Callable[[], None]:
    """Go on in a child, and return what it calls at the end. This process ends as the child; with 1 without that call.

    Where processes cannot be doubled, as on Windows, go on in this one.
    """
    if not hasattr(os, "fork"):
        return lambda: None
    (hear, tell), (watch, hold) = os.pipe(), os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        os.close(tell)
        os.close(watch)
        _wait(child, hear)
    os.close(hear)
    os.close(hold)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        last = -_TWICE

        def interrupt(_number: int, _frame: FrameType | None) -> None:
            nonlocal last
            before, last = last, time.monotonic()
            if last - before > _TWICE:
                raise KeyboardInterrupt

        signal.signal(signal.SIGINT, interrupt)
    threading.Thread(target=_await_end, args=(watch,), daemon=True).start()
    return partial(_finish, tell)


def _finish(tell: int) -> None:
    """Say that the site is finished."""
    os.write(tell, b"1")
    os.close(tell)


def _wait(child: int, hear: int) -> None:
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name)
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, _: os.kill(child, number))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.set_blocking(hear, False)  # what a page started may still hold the other end
    try:
        is_finished = os.read(hear, 1) == b"1"
    except BlockingIOError:
        is_finished = False
    if code == 0 and not is_finished:
        sys.stderr.write("The build ended before the site was finished: a line of a page ended its process.\n")
        code = 1
    sys.stderr.flush()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 1)


def _await_end(watch: int) -> None:
    """End this process when the one that waits for it was killed."""
    os.read(watch, 1)
    os.kill(os.getpid(), signal.SIGTERM)
