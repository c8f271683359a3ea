"""A process forked from a preloaded server: it starts immediately, has resource limits, and sends messages."""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import signal
import sys
import tempfile
import threading
import time
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from xla_inspect.process.limits import LOOK, Excess, Limits, kill_below

if TYPE_CHECKING:
    from collections.abc import Mapping
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkServerContext
    from multiprocessing.process import BaseProcess
    from pathlib import Path

STACKS = "stacks"
"""The file in a process's folder to which `faulthandler` writes the stacks."""

_OUTPUT = "output"

_SHOWN = 1 << 16
"""The maximum number of bytes to read from a process's output."""

_MOST_DESCRIPTORS = 64
"""The exclusive upper bound of the descriptors that a process inherits."""

_TRIES = 2
"""The number of attempts: the fork server may end during a request, and the next attempt restarts it."""

_lock = threading.Lock()
"""The lock for starting and joining processes, which `multiprocessing` does not allow in two threads at once."""


def preload(module: str) -> None:
    """Make the fork server import a module before it forks the first process."""
    _find_context().set_forkserver_preload([module])


@cache
def _find_context() -> ForkServerContext:
    # The import is local because most commands never start a forked process.
    from multiprocessing import get_context

    return get_context("forkserver")


class ForkedProcess:
    """A process forked from the fork server, with its own session and folder.

    Args:
        work: The function to run, as `module:function`. Its arguments are this process's end of the connection and
            `arguments`.
        arguments: Its further arguments, which must be picklable.
        folder: Its working folder, which is created now and removed at its end.
        variables: Environment variables in addition to this process's.
        limits: Its resource limits.

    Attributes:
        messages: Its messages in order; the last one is `{"kind": "ended"}`.
        code: Its exit code, negative for a signal; None while it runs.
        excess: The limit that ended it, or an empty string.
        stacks: The stacks that `faulthandler` wrote, available after its end.
    """

    def __init__(
        self, work: str, arguments: tuple[Any, ...], folder: Path, variables: Mapping[str, str], limits: Limits
    ) -> None:
        """Start the process in the background."""
        self.messages: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.code: int | None = None
        self.excess: Excess = ""
        self.stacks = self._printed = ""
        self.folder, self._limits, self._begun = folder, limits, time.monotonic()
        folder.mkdir(mode=0o700)
        self._output = os.open(folder / _OUTPUT, os.O_RDONLY | os.O_CREAT, 0o600)
        self._connection, theirs = _find_context().Pipe()
        self._process = _find_context().Process(target=_begin, args=(work, arguments, theirs, folder, dict(variables)))
        self._is_ending, self._reading = False, threading.Lock()
        self._follower = threading.Thread(target=self._follow, args=(theirs,), name=folder.name, daemon=True)
        self._follower.start()

    @property
    def printed(self) -> str:
        """The first 64 KiB of the text that the process has written to its standard output and error."""
        with self._reading:
            return self._printed if self.code is not None else self._read_output()

    def send(self, message: object) -> None:
        """Send a message to the process, which is ignored if the process has ended."""
        with contextlib.suppress(OSError):
            self._connection.send(message)

    def restart_clock(self, seconds: float | None) -> None:
        """Set the time limit, counted from now; None is no limit."""
        self._limits, self._begun = replace(self._limits, seconds=seconds), time.monotonic()

    def end(self, excess: Excess = "") -> None:
        """Kill the process and its descendants, without waiting, and store the limit that they exceeded."""
        if self.code is None:
            self._is_ending = True
            self.excess = self.excess or excess
            if self._process.pid:
                kill_below(self._process.pid)
                self._process.kill()

    def wait(self, seconds: float) -> None:
        """Wait until the process has ended and its folder is removed, for at most `seconds`."""
        self._follower.join(seconds)

    def _follow(self, theirs: Connection) -> None:
        from multiprocessing.connection import wait

        code = self._start(theirs)
        sources = [self._connection]
        while code is None:
            for source in wait([*sources, self._process.sentinel], LOOK):
                if source is not self._connection:
                    self.end()  # it goes on where the fork server alone has ended
                    with _lock:
                        code = self._process.exitcode
                elif not self._receive():
                    sources = []
                    self.end()  # nothing more can come of it
            process, seconds = self._process.pid or 0, time.monotonic() - self._begun
            if code is None and (excess := self._limits.find_excess(process, seconds, os.fstat(self._output).st_size)):
                self.end(excess)
        # The last messages are still in the pipe when the process has ended.
        while sources and self._connection.poll() and self._receive():
            pass
        self._clean_up(code)

    def _start(self, theirs: Connection) -> int | None:
        """Start the process, and return its exit code if the start fails."""
        with _lock, theirs:
            for _ in range(0 if self._is_ending else _TRIES):
                with contextlib.suppress(OSError, EOFError):
                    self._process.start()
                    break
            else:
                self.excess = "start"
                return 1
        # A call of `end` before the start had no process to kill.
        if self._is_ending:
            self.end()
        return None

    def _receive(self) -> bool:
        """Receive a message, and return whether more messages can follow."""
        try:
            message = self._connection.recv()
            # The lookup raises an error for anything that is not a message with a kind.
            self.messages.put({"kind": message["kind"], **message})
        except Exception:  # noqa: BLE001 - the pipe is closed, or its content is no message
            return False
        return True

    def _clean_up(self, code: int) -> None:
        self._connection.close()
        with contextlib.suppress(OSError):
            self.stacks = (self.folder / STACKS).read_bytes()[: 1 << 20].decode("utf-8", "replace")
        with self._reading:
            self._printed, self.code = self._read_output(), code
            os.close(self._output)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.messages.put({"kind": "ended"})

    def _read_output(self) -> str:
        return os.pread(self._output, _SHOWN, 0).decode("utf-8", "replace")


def _begin(
    work: str, arguments: tuple[Any, ...], connection: Connection, folder: Path, variables: dict[str, str]
) -> None:
    """Run the requested function in the process that was just forked."""
    from multiprocessing import parent_process

    parent = parent_process()
    # The parent may have ended between its request and the fork.
    if parent is None or not parent.is_alive():
        return
    os.setsid()
    _close_others({connection.fileno(), int(parent.sentinel)})
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    output = os.open(folder / _OUTPUT, os.O_WRONLY | os.O_APPEND)
    for standard in (1, 2):
        os.dup2(output, standard)
    os.close(output)
    # A crash would lose lines that are still in the buffer.
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # it is a stream of text
    os.chdir(folder)
    # Assemblers and other native libraries read the variable.
    os.environ.update({"TMPDIR": str(folder), **variables})
    # The fork server may already have chosen a folder, which `tempfile` would use again.
    tempfile.tempdir = str(folder)
    module, _, name = work.partition(":")
    getattr(import_module(module), name)(connection, *arguments)


def _close_others(descriptors: set[int]) -> None:
    """Close all descriptors except the given ones, because user code that writes to them would end the fork server."""
    from multiprocessing import resource_tracker

    # One of the closed descriptors belongs to this object, which creates a new one if `multiprocessing` is used.
    resource_tracker._resource_tracker._fd = None  # type: ignore[attr-defined]  # noqa: SLF001 - there is no other way
    for descriptor in {*range(3, _MOST_DESCRIPTORS)} - descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)


def _end_with(parent: BaseProcess) -> None:
    parent.join()
    os.killpg(os.getpid(), signal.SIGKILL)
