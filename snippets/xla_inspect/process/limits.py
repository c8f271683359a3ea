"""The memory and the processes that a process takes, the most that it may take, and the end of what it started."""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

type Excess = Literal["", "time", "memory", "output", "processes", "start"]
"""The limit that a process went over; `start` for a process that never began."""

LOOK = 0.1
"""Seconds between two looks at what a process takes."""


@dataclass(frozen=True)
class Limits:
    """The most that a process may take; None is no limit.

    Attributes:
        seconds: Time since it started, or since its clock was restarted.
        memory: Bytes of main memory, with all that it started.
        output: Characters, or bytes, that it writes to its standard output.
        processes: Processes that it starts.
    """

    seconds: float | None = None
    memory: int | None = None
    output: int | None = None
    processes: int | None = None

    def find_excess(self, process: int, seconds: float, output: int = 0) -> Excess:
        """Return the limit that a process is over after some seconds and some output, or an empty string."""
        if self.seconds is not None and seconds > self.seconds:
            return "time"
        if self.output is not None and output > self.output:
            return "output"
        if self.memory is not None or self.processes is not None:
            below = list_below(process)
            if self.memory is not None and measure_own_memory(process, *below) > self.memory:
                return "memory"
            if self.processes is not None and len(below) > self.processes:
                return "processes"
        return ""


UNLIMITED = Limits()


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
