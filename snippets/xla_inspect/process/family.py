"""The processes below a process, the memory that they take, and their end."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path


def list_below(process: int) -> list[int]:
    """Return the processes that a process has started, however far below it, as Linux lists them."""
    below = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in map(int, (task / "children").read_text(encoding="ascii").split()):
                below += [child, *list_below(child)]
    return below


def kill_below(process: int) -> None:
    """Let the system end what a process has started, and the rest of its session where it leads one."""
    if os.name == "posix":
        for below in list_below(process):
            with contextlib.suppress(OSError):
                os.kill(below, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.killpg(process, signal.SIGKILL)


def measure_own_memory(*processes: int) -> int:
    """Return the bytes of memory that are some processes' own, as Linux reports them, and 0 on other systems."""
    total = 0
    for process in processes:
        with contextlib.suppress(OSError, IndexError, ValueError):
            fields = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()
            total += (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")
    return total


def count_memory() -> int:
    """Return the bytes of memory that the machine has, or 0 where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0
