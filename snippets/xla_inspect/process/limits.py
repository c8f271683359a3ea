"""Resource limits of a process: measurement of memory and descendants, and termination of descendants."""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

type Excess = Literal["", "time", "memory", "output", "processes", "start"]
"""The limit that a process exceeded; `start` for a process that failed to start."""

LOOK = 0.1
"""Seconds between two measurements of a process."""


@dataclass(frozen=True)
class Limits:
    """The resource limits of a process; None is no limit.

    Attributes:
        seconds: Time since its start, or since its clock was restarted.
        memory: Bytes of main memory, including its descendants'.
        output: Characters or bytes written to its standard output.
        processes: The number of its descendants.
    """

    seconds: float | None = None
    memory: int | None = None
    output: int | None = None
    processes: int | None = None

    def find_excess(self, process: int, seconds: float, output: int = 0) -> Excess:
        """Return the limit that a process exceeds after the given time and output, or an empty string."""
        if self.seconds is not None and seconds > self.seconds:
            return "time"
        if self.output is not None and output > self.output:
            return "output"
        # Listing the descendants reads many files, so it is done only for a limit that needs it.
        if self.memory is not None or self.processes is not None:
            below = list_below(process)
            if self.memory is not None and measure_own_memory(process, *below) > self.memory:
                return "memory"
            if self.processes is not None and len(below) > self.processes:
                return "processes"
        return ""


UNLIMITED = Limits()


def list_below(process: int) -> list[int]:
    """Return the numbers of all descendants of a process as Linux lists them; none on other systems."""
    below = []
    with contextlib.suppress(OSError):
        # Linux lists a child under the thread that started it.
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in map(int, (task / "children").read_text(encoding="ascii").split()):
                below += [child, *list_below(child)]
    return below


def kill_below(process: int) -> None:
    """Kill the descendants of a process, and its process group, including itself, if it leads one; only on POSIX."""
    if os.name == "posix":
        for below in list_below(process):
            with contextlib.suppress(OSError):
                os.kill(below, signal.SIGKILL)
        with contextlib.suppress(OSError):
            # Descendants whose own parent has ended are not below the process any more, but still in its session.
            os.killpg(process, signal.SIGKILL)


def measure_own_memory(*processes: int) -> int:
    """Return the sum of the private memory of processes in bytes, as Linux reports it, or 0 on other systems."""
    total = 0
    for process in processes:
        with contextlib.suppress(OSError, IndexError, ValueError):
            fields = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()
            # Processes share pages, such as those of libraries, which would otherwise count once for each process.
            total += (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")
    return total


def count_memory() -> int:
    """Return the machine's main memory in bytes, or 0 if the system does not report it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0
