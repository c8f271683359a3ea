"""The compilers that the playground keeps running: a process for each kind of target, and one that reads code."""

from __future__ import annotations

import itertools
import queue
import signal
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xla_inspect.play.failures import make_failure
from xla_inspect.process import name_end

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect.play.offspring import Nursery, Offspring

GRACE = 2.0
"""Seconds that a compile which nobody waits for any more may go on, so that its process need not start again."""

START = 60.0
"""Seconds in which a process has to be ready."""

JOBS = 100
"""How many programs a process compiles before another takes its place: compilers keep something of each."""

_numbers = itertools.count(1)


@dataclass
class Job:
    """What a compiler is asked for.

    Attributes:
        work: What its process is told.
        tell: Gets each message about it, and a last one that `is_last` says so of.
        limit: Seconds that it may take.
        cancelled: When nobody waited for it any more, by the monotonic clock; 0 while somebody does.
    """

    work: dict[str, Any]
    tell: Callable[[dict[str, Any]], None]
    limit: float
    number: int = field(default_factory=lambda: next(_numbers))
    cancelled: float = 0.0
    begun: bool = False

    def cancel(self) -> None:
        """Wait for it no more."""
        self.cancelled = self.cancelled or time.monotonic()


class Compiler:
    """A process that does one job after the other, started again where one ends it.

    Args:
        nursery: Where it comes from.
        role: What the process does.
        kind: For which kind of target.
    """

    def __init__(self, nursery: Nursery, role: str, kind: str = "") -> None:
        """Start the process."""
        self._nursery, self._role, self._kind = nursery, role, kind
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._heard: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._process: Offspring | None = None
        self._done = 0
        self._thread = threading.Thread(target=self._work, name=f"play-{role}-{kind}", daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> None:
        """Do a job when those before it are done."""
        self._jobs.put(job)

    def close(self) -> None:
        """End the process."""
        self._jobs.put(None)
        if self._process:
            self._process.end()

    def _start(self) -> None:
        self._done = 0
        self._heard = queue.SimpleQueue()
        try:
            self._process = self._nursery.fork(self._role, kind=self._kind)
        except OSError:
            self._process = None
            return
        self._process.hear(self._heard.put)

    def _work(self) -> None:
        self._start()
        while (job := self._jobs.get()) is not None:
            if job.cancelled:
                job.tell({"kind": "over"})
                continue
            # One that died while it had nothing to do says nothing of the program.
            for _ in range(2):
                if self._process is None or self._process.report is not None:
                    self._start()
                if self._process is None:
                    continue
                if self._do(job, self._process):
                    break
            else:
                failure = make_failure("crash", "the process that compiles does not start, or ends at once")
                job.tell({"kind": "failed", "failure": failure})
            job.tell({"kind": "over"})
            if self._done >= JOBS and self._process:
                self._process.end()
                self._start()

    def _do(self, job: Job, process: Offspring) -> bool:
        """Do a job, and return whether something can be said of it."""
        process.send({"job": job.number, "work": job.work})
        until, begun = time.monotonic() + START, False
        while True:
            now = time.monotonic()
            if now > until or (job.cancelled and now > job.cancelled + GRACE):
                process.end()
                self._process = None
                if not job.cancelled:
                    what = f"the compiler was not done after {job.limit:g} s" if begun else "the compiler did not start"
                    hint = "raise the limit, as in --limit-compile 600" if begun else None
                    job.tell({"kind": "failed", "failure": make_failure("time", what, hint=hint)})
                return True
            try:
                message = self._heard.get(timeout=min(until - now, 0.5) if not job.cancelled else 0.1)
            except queue.Empty:
                continue
            if message["kind"] == "ended":
                self._process = None
                if not begun:
                    return False
                job.tell({"kind": "failed", "failure": explain_end(process)})
                return True
            if message.get("job") != job.number:
                continue
            if message["kind"] == "begun":
                begun, until = True, time.monotonic() + job.limit
            elif message["kind"] == "idle":
                self._done += 1
                return True
            else:
                job.tell(message)


def explain_end(process: Offspring) -> dict[str, Any]:
    """Return what is told of a compiler's process that ended."""
    report = process.report or {}
    if report.get("reason") == "memory":
        return make_failure("memory", "the compiler took more memory than it may", hint="raise it with --limit-memory")
    code = int(report.get("code", -signal.SIGKILL))
    said = "\n".join(line for line in process.printed.splitlines()[-8:])
    return make_failure("crash", f"the compiler ended its process ({name_end(code)})\n{said}".strip())
