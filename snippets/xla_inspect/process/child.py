"""A Python process with limits, which ends with this process, whatever ends this one."""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import threading
import time
from typing import IO, TYPE_CHECKING, Self

from xla_inspect.process.limits import LOOK, UNLIMITED, Excess, Limits, kill_below

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from resource import struct_rusage

CLOSING = 10.0
"""Seconds that a process may take to end after it has closed its output."""

RUN_MODULE = "import runpy, sys; runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
"""A program that runs the module that its first argument names, as `python -m` does."""

_FOLLOW = """\
import os, signal, threading
def follow():
    os.read({lifeline}, 1)
    try:
        {cleaning}
    finally:
        (os.killpg if os.getpgid(0) == os.getpid() else os.kill)(os.getpid(), signal.SIGKILL)
threading.Thread(target=follow, daemon=True).start()
del follow
"""
"""Start of the process's program: it ends itself when the system closes the pipe that its parent held open."""


class Child:
    """A Python process, heard line by line.

    Args:
        python: The interpreter and its options, such as `[sys.executable, "-P"]`.
        program: What it runs, as after `-c`.
        arguments: The words after it.
        variables: Its whole environment, by default this process's.
        folder: Its working folder, by default this process's.
        source: Where its standard input comes from, as `subprocess.Popen` takes it, by default from `send`.
        errors: Where its standard error goes, as `subprocess.Popen` takes it.
        limits: The most that it may take.
        cleaning: A statement that it runs where its parent was killed, before it ends.
        has_session: Whether it and what it starts are a session of their own, which ends as a whole. Without one, a
            terminal's interrupt reaches it too.

    Attributes:
        process: The process itself. Its standard output is text, heard by `listen` or by iteration alone.
        excess: The limit that ended it: `time`, `memory`, `output`, or an empty string.
    """

    def __init__(  # noqa: PLR0913 - as `subprocess.Popen`
        self,
        python: Sequence[str],
        program: str,
        arguments: Sequence[str] = (),
        *,
        variables: Mapping[str, str] | None = None,
        folder: Path | None = None,
        source: int | None = subprocess.PIPE,
        errors: IO[bytes] | IO[str] | int | None = None,
        limits: Limits = UNLIMITED,
        cleaning: str = "pass",
        has_session: bool = True,
    ) -> None:
        """Start it."""
        self.excess: Excess = ""
        self._limits, self._has_session = limits, has_session and os.name == "posix"
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._listener: threading.Thread | None = None
        self._begun, self._size = time.monotonic(), 0
        self._held_open: int | None
        lifeline, self._held_open = held_open = os.pipe()
        follow = _FOLLOW.format(lifeline=lifeline, cleaning=cleaning) if os.name == "posix" else ""
        try:
            self.process = subprocess.Popen(  # noqa: S603 - code of the reader's own, which is the point
                [*python, "-c", follow + program, *arguments],
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=errors,
                encoding="utf-8",
                errors="replace",
                env=variables,
                cwd=folder,
                pass_fds=[lifeline] if os.name == "posix" else [],
                start_new_session=self._has_session,
            )
        except BaseException:
            os.close(held_open[1])
            raise
        finally:
            os.close(lifeline)
        self._ended = threading.Event()
        if limits.seconds is not None or limits.memory is not None:
            threading.Thread(target=self._watch, daemon=True).start()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self.end()

    def __iter__(self) -> Iterator[str]:
        """Yield the lines of its standard output until it closes that."""
        stream, most = self.process.stdout, self._limits.output
        while stream and (line := stream.readline(-1 if most is None else most - self._size + 1)):
            self._size += len(line)
            if most is not None and self._size > most:
                self._end_over("output")
                return
            yield line

    def restart_clock(self) -> None:
        """Give it the limit of time anew, as for the next of several tasks."""
        self._begun = time.monotonic()

    def send(self, line: str) -> None:
        """Write a line to its standard input; a process that has ended hears nothing."""
        with contextlib.suppress(OSError, ValueError):
            if self.process.stdin:
                self.process.stdin.write(f"{line}\n")
                self.process.stdin.flush()

    def listen(self, seconds: float) -> str:
        """Return the next line of its standard output, or an empty string where none comes in time or any more."""
        if self._listener is None:
            self._listener = threading.Thread(target=self._hear, daemon=True)
            self._listener.start()
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            return ""
        if not line:
            # It closes its output a moment before it has ended.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(CLOSING)
        return line

    def measure_use(self) -> struct_rusage:
        """Wait until it has ended, and return what it used, such as seconds of the processor."""
        _, status, use = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return use

    def kill(self) -> None:
        """Let the system end it, with what it started."""
        kill_below(self.process.pid)
        self.process.kill()

    def end(self) -> int:
        """End it, and return how it ended: its exit status, or the number of a signal below zero."""
        self._ended.set()
        self.kill()
        code = self.process.wait()
        # Closing the output would wait for a listener, or for what the process started without a session.
        is_read = self._listener is not None or not self._has_session
        for stream in filter(None, (self.process.stdin, None if is_read else self.process.stdout)):
            # What was still to be written has no reader any more.
            with contextlib.suppress(OSError):
                stream.close()
        held_open, self._held_open = self._held_open, None
        if held_open is not None:
            os.close(held_open)
        return code

    def _hear(self) -> None:
        # The process may be ended in the middle of a line.
        with contextlib.suppress(OSError, ValueError):
            for line in self:
                self._lines.put(line)
        self._lines.put("")
        if self.process.stdout:
            self.process.stdout.close()

    def _watch(self) -> None:
        while not self._ended.wait(LOOK) and self.process.poll() is None:
            if excess := self._limits.find_excess(self.process.pid, time.monotonic() - self._begun):
                self._end_over(excess)

    def _end_over(self, limit: Excess) -> None:
        self.excess = limit
        self._ended.set()
        self.kill()
