"""The compilers of the playground: a process for each kind of target, and one that reads code."""

from __future__ import annotations

import itertools
import queue
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from xla_inspect.play.failures import make_failure
from xla_inspect.process import name_end

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from xla_inspect.play.forked_process import ForkedProcess, ForkServer

GRACE = 2.0
"""Seconds that a cancelled compile may go on, because its process would take longer to start again."""

START = 60.0
"""Seconds within which a process has to be ready."""

JOBS = 100
"""The programs that a process compiles before another replaces it, because compilers store something of each."""

_numbers = itertools.count(1)


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
        self._lock = threading.Lock()
        self._start()

    def close(self) -> None:
        """End the process."""
        if self._process:
            self._process.end()

    def _start(self) -> None:
        self._done = 0
        self._process: ForkedProcess | None = None
        with suppress(OSError):
            self._process = self._fork_server.fork(self._role, self._kind)

    def do(self, work: dict[str, Any], limit: float, cancelled: threading.Event) -> Iterator[dict[str, Any]]:
        """Yield the messages about a job; it waits until no other thread's job is running.

        Args:
            work: The content of the job, which goes to the process.
            limit: The seconds that it may take.
            cancelled: Set when nobody needs the result any more.
        """
        with self._lock:
            # A process that ended while it was idle says nothing about the program.
            for _ in range(2):
                if cancelled.is_set():
                    return
                if self._process is None or self._process.code is not None:
                    self._start()
                if self._process and (yield from self._run(self._process, work, limit, cancelled)):
                    break
            else:
                yield _fail("crash", "the process that compiles does not start, or ends at once")
            if self._done >= JOBS:
                self.close()
                self._start()

    def _run(
        self, process: ForkedProcess, work: dict[str, Any], limit: float, cancelled: threading.Event
    ) -> Generator[dict[str, Any], None, bool]:
        """Yield the messages about a job, and return whether they say something about the program."""
        number, begun = next(_numbers), False
        process.send({"job": number, "work": work})
        deadline = grace = time.monotonic() + START
        while time.monotonic() < min(deadline, grace):
            if cancelled.is_set():
                grace = min(grace, time.monotonic() + GRACE)
            try:
                message = process.messages.get(timeout=0.1)
            except queue.Empty:
                continue
            if message["kind"] == "ended":
                if begun:
                    yield explain_end(process)
                return begun
            if message.get("job") != number:
                continue
            if message["kind"] == "begun":
                begun, deadline = True, time.monotonic() + limit
                grace = deadline
            elif message["kind"] == "idle":
                self._done += 1
                return True
            else:
                yield message
        process.end()
        process.wait()
        if not cancelled.is_set():
            what = f"the compiler was not done after {limit:g} s" if begun else "the compiler did not start"
            yield _fail("time", what, "raise the limit, as in --limit-compile 600" if begun else None)
        return True


def explain_end(process: ForkedProcess) -> dict[str, Any]:
    """Return the failure of a job that ended the compiler's process."""
    if process.excess == "memory":
        return _fail("memory", "the compiler took more memory than it may", "raise it with --limit-memory")
    last = "\n".join(process.printed.splitlines()[-8:])
    return _fail("crash", f"the compiler ended its process ({name_end(process.code or 0)})\n{last}".strip())


def _fail(kind: str, message: str, hint: str | None = None) -> dict[str, Any]:
    return {"kind": "failed", "failure": make_failure(kind, message, hint=hint)}
