"""The class that runs jobs in a worker process of the playground, with time limits, and restarts the process."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Any

from xla_inspect.play.failures import make_failure
from xla_inspect.process import name_end

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from xla_inspect.process import ForkedProcess

GRACE = 2.0
"""The seconds that a cancelled compilation may continue, since its process would take longer to restart."""

START = 60.0
"""The time limit in seconds for starting a process."""

JOBS = 100
"""The number of jobs after which a process is replaced, since compilers store data about each program."""


class Compiler:
    """A worker process that runs one job at a time, and is restarted if it ends and after 100 jobs.

    Attributes:
        process: The current process.
    """

    def __init__(self, start: Callable[[], ForkedProcess]) -> None:
        """Start the process."""
        self._start, self.process, self._done = start, start(), 0
        self._lock = threading.Lock()

    def do(self, work: dict[str, Any], limit: float, cancelled: threading.Event) -> Iterator[dict[str, Any]]:
        """Run a job after those of other threads, and yield the messages that the process sends about it.

        Args:
            work: The job, which is sent to the process.
            limit: The time limit in seconds.
            cancelled: An event that is set when the result is no longer needed.
        """
        with self._lock:
            # A process that ended while it was idle is not the program's fault, so the job is tried again.
            for _ in range(2):
                if self.process.code is not None or self._done >= JOBS:
                    # A process that is replaced after many jobs still runs; for one that has ended, this call does
                    # nothing.
                    self.process.end()
                    self.process, self._done = self._start(), 0
                self._done += 1
                if cancelled.is_set() or (yield from self._follow(self.process, work, limit, cancelled)):
                    return
            yield _fail("crash", "the process that compiles does not start, or ends at once")

    def _follow(
        self, process: ForkedProcess, work: dict[str, Any], limit: float, cancelled: threading.Event
    ) -> Generator[dict[str, Any], None, bool]:
        """Yield the messages about a job, and return whether it was started or cancelled."""
        is_begun = is_cancelled = False
        process.restart_clock(START)
        process.send(work)
        while True:
            if cancelled.is_set() and not is_cancelled:
                is_cancelled = True
                process.restart_clock(GRACE)
            try:
                message = process.messages.get(timeout=0.1)
            except queue.Empty:
                continue
            match message["kind"]:
                case "begun":
                    is_begun = True
                    process.restart_clock(GRACE if is_cancelled else limit)
                case "idle":
                    process.restart_clock(None)
                    return True
                case "ended":
                    if is_begun and not is_cancelled:
                        yield explain_end(process, limit)
                    # A job that had not begun did not cause the end of the process, so the caller tries it again.
                    return is_begun or is_cancelled
                case _:
                    yield message


def explain_end(process: ForkedProcess, limit: float) -> dict[str, Any]:
    """Return the message, of the kind `failed`, about a job during which its process ended."""
    if process.excess == "time":
        return _fail(
            "time", f"the compiler was not done after {limit:g} s", "raise the limit, as in --limit-compile 600"
        )
    if process.excess == "memory":
        return _fail("memory", "the compiler took more memory than it may", "raise it with --limit-memory")
    last = "\n".join(process.printed.splitlines()[-8:])
    return _fail("crash", f"the compiler ended its process ({name_end(process.code or 0)})\n{last}".strip())


def _fail(kind: str, message: str, hint: str | None = None) -> dict[str, Any]:
    return {"kind": "failed", "failure": make_failure(kind, message, hint=hint)}
