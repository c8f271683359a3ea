"""A Python child process with resource limits that ends when its parent ends, for any reason."""

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
"""A program that runs the module named by its first argument, like `python -m`."""

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
"""The start of the process's program: it exits when its parent's end of a pipe is closed."""


class Child:
    """A Python process whose standard output is read line by line.

    Args:
        python: The interpreter and its options, such as `[sys.executable, "-P"]`.
        program: The program text, as after `-c`.
        arguments: The command-line arguments after it.
        variables: Its complete environment, by default this process's.
        folder: Its working folder, by default this process's.
        source: Its standard input, as `subprocess.Popen` accepts it; by default a pipe for `send`.
        errors: Its standard error, as `subprocess.Popen` accepts it.
        limits: Its resource limits. The output counts when it is read; the number of processes is checked only if there
            is also a limit of time or memory.
        cleaning: A statement that it runs before it ends because its parent was killed.
        has_session: Whether it and its descendants form their own session, which ends as a whole. Without a session,
            a terminal's interrupt also reaches it.

    Attributes:
        process: The process itself. Its standard output is text; read it only with `listen` or by iteration.
        excess: The limit that ended it: `time`, `memory`, `output`, `processes`, or an empty string.
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
        """Start the process."""
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
            # The process has its own copy of this end of the pipe.
            os.close(lifeline)
        self._ended = threading.Event()
        if limits.seconds is not None or limits.memory is not None:
            threading.Thread(target=self._watch, daemon=True).start()

    def __enter__(self) -> Self:
        """Return the child itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Kill the process and its descendants."""
        self.end()

    def __iter__(self) -> Iterator[str]:
        """Yield the lines of the process's standard output until it is closed."""
        stream, most = self.process.stdout, self._limits.output
        # One character more than the limit shows the excess, without reading a line that never ends.
        while stream and (line := stream.readline(-1 if most is None else most - self._size + 1)):
            self._size += len(line)
            if most is not None and self._size > most:
                self._end_over("output")
                return
            yield line

    def restart_clock(self) -> None:
        """Restart the time limit, as for the next of several tasks."""
        self._begun = time.monotonic()

    def send(self, line: str) -> None:
        """Write a line to the process's standard input; does nothing if the process has ended."""
        with contextlib.suppress(OSError, ValueError):
            if self.process.stdin:
                self.process.stdin.write(f"{line}\n")
                self.process.stdin.flush()

    def listen(self, seconds: float) -> str:
        """Return the next line of the standard output, or an empty string on timeout or at the end of the output."""
        if self._listener is None:
            self._listener = threading.Thread(target=self._hear, daemon=True)
            self._listener.start()
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            return ""
        if not line:
            # The process closes its output a moment before it ends.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(CLOSING)
        return line

    def measure_use(self) -> struct_rusage:
        """Wait until the process has ended, and return its resource usage, such as processor seconds."""
        # `Popen.wait` does not return the resource usage.
        _, status, use = os.wait4(self.process.pid, 0)
        # Without this value, `Popen` would wait for a process that no longer exists.
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return use

    def kill(self) -> None:
        """Kill the process and its descendants, without waiting for their end."""
        # The descendants come first, because they can be found only while their parent lives.
        kill_below(self.process.pid)
        self.process.kill()

    def end(self) -> int:
        """Kill the process and its descendants if they run, and return its exit status, or a negative signal number."""
        self._ended.set()
        self.kill()
        code = self.process.wait()
        # Closing the output would block while a listener reads, or while descendants without a session keep it open.
        is_read = self._listener is not None or not self._has_session
        for stream in filter(None, (self.process.stdin, None if is_read else self.process.stdout)):
            # Buffered input is lost because the process no longer reads it.
            with contextlib.suppress(OSError):
                stream.close()
        # A second call must not close the number again, because another file may have it by then.
        held_open, self._held_open = self._held_open, None
        if held_open is not None:
            os.close(held_open)
        return code

    def _hear(self) -> None:
        # The process may be killed in the middle of a line.
        with contextlib.suppress(OSError, ValueError):
            for line in self:
                self._lines.put(line)
        # The empty line tells `listen` that the output has ended.
        self._lines.put("")
        if self.process.stdout:
            self.process.stdout.close()

    def _watch(self) -> None:
        while not self._ended.wait(LOOK) and self.process.poll() is None:
            if excess := self._limits.find_excess(self.process.pid, time.monotonic() - self._begun):
                self._end_over(excess)

    def _end_over(self, limit: Excess) -> None:
        # The limit is stored before the process ends, so that whoever notices the end can read it.
        self.excess = limit
        self._ended.set()
        self.kill()
