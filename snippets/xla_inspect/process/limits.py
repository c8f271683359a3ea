"""The limits of a process, and the one that it went over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xla_inspect.process.family import list_below, measure_own_memory

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
