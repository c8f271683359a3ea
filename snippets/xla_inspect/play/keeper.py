"""The process around each that runs a reader's code or a compiler: when that ends, nothing of it is left."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect.play import confinement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LOOK = 0.1
"""Seconds from one look at what runs to the next."""

PROCESSES = 32
"""How many processes the code may start."""


def keep(order: dict[str, Any], control: int, status: int, run: Callable[[], None]) -> None:
    """Run a function in a process of its own, and write how it ended.

    Args:
        order: What it may take: `memory` in bytes, and whether it is `watched`.
        control: A pipe: what is read from it, or that it is closed, ends the process.
        status: A pipe that the report goes to: `code`, as `os.waitstatus_to_exitcode` gives it, and `reason`.
        run: The function.
    """
    with contextlib.suppress(OSError):
        os.setsid()
    confinement.adopt_orphans()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    child = os.fork()
    if child == 0:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        os.close(control)
        os.close(status)
        with contextlib.suppress(OSError):
            os.setsid()
        try:
            run()
        finally:
            os._exit(0)
    # Everything but these two is the child's alone: a pipe ends when that has ended.
    low, high = sorted((control, status))
    os.closerange(3, low)
    os.closerange(low + 1, high)
    os.closerange(high + 1, 4096)
    reason = _watch(child, control, order)
    code = _end_all(child)
    with contextlib.suppress(OSError):
        os.write(status, json.dumps({"code": code, "reason": reason}).encode())


def _watch(child: int, control: int, order: dict[str, Any]) -> str:
    """Wait until a process ends, or has to, and return why it had to."""
    poll = select.poll()
    poll.register(control, select.POLLIN | select.POLLHUP)
    ended = os.pidfd_open(child) if hasattr(os, "pidfd_open") else None
    if ended is not None:
        poll.register(ended, select.POLLIN)
    while True:
        ready = dict(poll.poll(1000 * LOOK if order.get("watched") or ended is None else None))
        if control in ready:
            return "asked"
        if ended in ready or (ended is None and _is_over(child)):
            return ""
        if order.get("watched") and (reason := _find_excess(child, order["memory"])):
            return reason


def _is_over(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _find_excess(child: int, memory: int) -> str:
    """Return what a process takes too much of, with those that it started, or an empty string."""
    others = [each for each in list_below(os.getpid()) if each != child]
    if len(others) > PROCESSES:
        return "processes"
    taken = 0
    for process in (child, *others):
        with contextlib.suppress(OSError, IndexError, ValueError):
            fields = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()
            taken += (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")
    return "memory" if taken > memory else ""


def list_below(process: int) -> Iterator[int]:
    """Yield the processes below one, as Linux lists them; elsewhere none."""
    waiting = [process]
    while waiting:
        current = waiting.pop()
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{current}/task").iterdir():
                with contextlib.suppress(OSError):
                    found = [int(each) for each in (task / "children").read_text(encoding="ascii").split()]
                    yield from found
                    waiting += found


def _end_all(child: int) -> int:
    """End every process below this one, and return how the first ended."""
    code, ended = -signal.SIGKILL, 0
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    while True:
        for process in list_below(os.getpid()):
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        try:
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                if found[0] == child and not ended:
                    code, ended = os.waitstatus_to_exitcode(found[1]), 1
        except ChildProcessError:
            return code
        time.sleep(0.005)
