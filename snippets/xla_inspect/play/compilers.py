"""The compilers of the playground: a process for each kind of target, and one that reads code."""

from __future__ import annotations

import itertools
import queue
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xla_inspect.crashes import name_end
from xla_inspect.play.failures import make_failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect.play.forked_process import ForkedProcess, ForkServer

GRACE = 2.0
"""Seconds that a cancelled compile may go on, because its process would take longer to start again."""

START = 60.0
"""Seconds within which a process has to be ready."""

JOBS = 100
"""The programs that a process compiles before another replaces it, because compilers store something of each."""

_numbers = itertools.count(1)


@dataclass
class Job:
    """A job for a compiler.

    Attributes:
        work: The content of the job, which goes to the process.
        tell: Receives each message about the job, and at last `{"kind": "over"}`.
        limit: The seconds that it may take.
        cancelled: The time at which its result became useless, by the monotonic clock; 0 while it is needed.
    """

    work: dict[str, Any]
    tell: Callable[[dict[str, Any]], None]
    limit: float
    number: int = field(default_factory=lambda: next(_numbers))
    cancelled: float = 0.0

    def cancel(self) -> None:
        """Note that nobody waits for the result."""
        self.cancelled = self.cancelled or time.monotonic()


class Compiler:
    """A process that does one job after another, and is started again when it ends.

    Args:
        fork_server: The server that forks the process.
        role: The role of the process.
        kind: The kind of target that it compiles for.
    """

    def __init__(self, fork_server: ForkServer, role: str, kind: str = "") -> None:
        """Start the process."""
        self._fork_server, self._role, self._kind = fork_server, role, kind
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._process: ForkedProcess | None = None
        self._done = 0
        threading.Thread(target=self._work, name=f"play-{role}-{kind}", daemon=True).start()

    def submit(self, job: Job) -> None:
        """Do a job after those that were submitted before."""
        self._jobs.put(job)

    def close(self) -> None:
        """End the process."""
        self._jobs.put(None)
        if self._process:
            self._process.end()

    def _start(self) -> None:
        self._done = 0
        try:
            self._process = self._fork_server.fork(self._role, self._kind)
        except OSError:
            self._process = None

    def _work(self) -> None:
        self._start()
        while (job := self._jobs.get()) is not None:
            if not job.cancelled:
                self._try(job)
            job.tell({"kind": "over"})
            if self._done >= JOBS and self._process:
                self._process.end()
                self._start()

    def _try(self, job: Job) -> None:
        # A process that ended while it was idle says nothing about the program.
        for _ in range(2):
            if self._process is None or self._process.code is not None:
                self._start()
            if self._process and self._do(job, self._process):
                return
        job.tell(_fail("crash", "the process that compiles does not start, or ends at once"))

    def _do(self, job: Job, process: ForkedProcess) -> bool:
        """Do a job, and return whether the result says something about the program."""
        process.send({"job": job.number, "work": job.work})
        deadline, begun = time.monotonic() + START, False
        while True:
            now = time.monotonic()
            if now > deadline or (job.cancelled and now > job.cancelled + GRACE):
                process.end()
                self._process = None
                if not job.cancelled:
                    what = f"the compiler was not done after {job.limit:g} s" if begun else "the compiler did not start"
                    job.tell(_fail("time", what, "raise the limit, as in --limit-compile 600" if begun else None))
                return True
            try:
                message = process.messages.get(timeout=min(deadline - now, 0.1 if job.cancelled else 0.5))
            except queue.Empty:
                continue
            if message["kind"] == "ended":
                self._process = None
                if begun:
                    job.tell(explain_end(process))
                return begun
            if message.get("job") != job.number:
                continue
            if message["kind"] == "begun":
                begun, deadline = True, time.monotonic() + job.limit
            elif message["kind"] == "idle":
                self._done += 1
                return True
            else:
                job.tell(message)


def explain_end(process: ForkedProcess) -> dict[str, Any]:
    """Return the failure of a job that ended the compiler's process."""
    if process.excess == "memory":
        return _fail("memory", "the compiler took more memory than it may", "raise it with --limit-memory")
    last = "\n".join(process.printed.splitlines()[-8:])
    return _fail("crash", f"the compiler ended its process ({name_end(process.code or 0)})\n{last}".strip())


def _fail(kind: str, message: str, hint: str | None = None) -> dict[str, Any]:
    return {"kind": "failed", "failure": make_failure(kind, message, hint=hint)}
