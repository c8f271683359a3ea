"""The processes of the playground as the server sees them: their messages, their output, their limits and their end."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import threading
from multiprocessing.connection import Connection, Pipe, wait
from typing import TYPE_CHECKING, Any

from xla_inspect.play.fork_server import STACKS
from xla_inspect.process import list_below, measure_own_memory

if TYPE_CHECKING:
    from pathlib import Path

PRINTED = 1 << 16
"""The characters of a process's output that are stored."""

FLOOD = 1 << 26
"""The bytes of output after which a process is ended."""

PROCESSES = 32
"""The processes that one process may start."""

_CHECK = 0.1
"""Seconds between two checks of the memory and the number of processes."""


class ForkedProcess:
    """A process that was forked from the fork server.

    Args:
        folder: The folder that it runs in, removed at its end.
        connection: The channel of messages in both directions.
        output: The pipe of its output.
        status: The pipe of its process number and, at its end, of its exit code.
        memory: The bytes of memory that it may take with all that it starts.

    Attributes:
        messages: Its messages in order; the last one is `{"kind": "ended"}`.
        is_ready: Whether it has sent `ready`.
        code: Its exit code, negative for a signal; None while it runs.
        excess: The limit that ended it: `memory`, `output`, `processes`, or an empty string.
        printed: The first `PRINTED` characters of its output.
        stacks: The stacks that `faulthandler` wrote.
    """

    def __init__(
        self, folder: Path, connection: Connection, output: Connection, status: Connection, memory: int
    ) -> None:
        """Begin to receive its messages."""
        self.folder, self._memory = folder, memory
        self.messages: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.is_ready, self.excess = False, ""
        self.code: int | None = None
        self.printed = self.stacks = ""
        self._connection, self._output, self._status = connection, output, status
        self._process, self._is_ending, self._bytes = 0, False, 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._listen, name=f"play-{folder.name}", daemon=True)
        self._thread.start()

    def send(self, message: dict[str, Any]) -> None:
        """Send a message; a process that has ended ignores it."""
        with contextlib.suppress(OSError):
            self._connection.send(message)

    def end(self, excess: str = "") -> None:
        """End it with all that it started."""
        with self._lock:
            self._is_ending = True
            if self.code is None and self._process:
                self.excess = self.excess or excess
                for process in (*list_below(self._process), self._process):
                    with contextlib.suppress(OSError):
                        os.kill(process, signal.SIGKILL)

    def wait(self) -> None:
        """Wait until it has ended and its last output is read."""
        self._thread.join()

    def _listen(self) -> None:
        sources = [self._connection, self._output, self._status]
        readers = {self._connection: self._receive, self._output: self._read_output, self._status: self._read_status}
        # Processes that it started may hold its pipes open after its end: only the content is read then.
        while (ready := wait(sources, _CHECK if self.code is None else 0)) or self.code is None:
            for source in ready:
                try:
                    readers[source]()  # type: ignore[index]  # these three are all connections
                except Exception:  # noqa: BLE001 - the pipe is closed, or its content is no message
                    sources.remove(source)  # type: ignore[arg-type]  # likewise
                    if source is self._connection:
                        self.end()  # nothing more can come of it
            if self.code is None:
                self._check(is_lost=self._status not in sources)
        for source in (self._connection, self._output, self._status):
            source.close()
        with contextlib.suppress(OSError):
            self.stacks = (self.folder / STACKS).read_bytes()[: 1 << 20].decode("utf-8", "replace")
        shutil.rmtree(self.folder, ignore_errors=True)
        self.messages.put({"kind": "ended"})

    def _receive(self) -> None:
        message = self._connection.recv()
        self.is_ready = self.is_ready or message["kind"] == "ready"
        self.messages.put(message)

    def _read_output(self) -> None:
        data = os.read(self._output.fileno(), 1 << 18)
        if not data:
            raise EOFError
        self._bytes += len(data)
        self.printed += data.decode("utf-8", "replace")[: PRINTED - len(self.printed)]
        if self._bytes > FLOOD:
            self.end("output")

    def _read_status(self) -> None:
        number = self._status.recv()
        if self._process:
            with self._lock:
                self.code = number
            return
        self._process = number
        if self._is_ending:
            self.end()

    def _check(self, *, is_lost: bool) -> None:
        """End a process that takes too much, or whose fork server has ended and reports no exit code."""
        if is_lost:
            self.end()
            self.code = -signal.SIGKILL
            return
        below = list_below(self._process) if self._process else []
        taken = measure_own_memory(self._process, *below)
        if taken > self._memory or len(below) > PROCESSES:
            self.end("memory" if taken > self._memory else "processes")


class ForkServer:
    """The fork server; it is started again when it ends.

    Args:
        folder: The folder of the playground.
        memory: The bytes of memory that each process may take.
    """

    def __init__(self, folder: Path, memory: int) -> None:
        """Start it."""
        self._folder, self._memory = folder, memory
        self._lock = threading.Lock()
        self._count, self._is_closed = 0, False
        self._start()

    def fork(self, role: str, kind: str = "") -> ForkedProcess:
        """Return a new process.

        Args:
            role: A role that `fork_server.load_roles` lists.
            kind: The kind of target that it compiles for.

        Raises:
            OSError: No process can be started.
        """
        with self._lock:
            if self._is_closed:
                message = "the playground is ending"
                raise OSError(message)
            if self._process.poll() is not None:
                self._channel.close()
                self._start()
            self._count += 1
            folder = self._folder / f"{role}-{self._count}"
            folder.mkdir(mode=0o700)
            (ours, theirs), (printed, output), (reports, status) = Pipe(), Pipe(duplex=False), Pipe(duplex=False)
            order = {"role": role, "kind": kind, "folder": str(folder), "memory": self._memory}
            with theirs, output, status:
                descriptors = [theirs.fileno(), output.fileno(), status.fileno()]
                socket.send_fds(self._channel, [json.dumps(order).encode()], descriptors)
        return ForkedProcess(folder, ours, printed, reports, self._memory)

    def close(self) -> None:
        """End it with all that was forked from it."""
        with self._lock:
            self._is_closed = True
            self._channel.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _start(self) -> None:
        self._channel, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        folder = self._folder / "temporary"
        folder.mkdir(exist_ok=True)
        environment = {
            **os.environ,
            "XLA_INSPECT_CACHE": "off",
            "TMPDIR": str(folder),
            "TPU_LOG_DIR": str(folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUTF8": "1",
        }
        command = "from xla_inspect.play.fork_server import main; main()"
        with other, (self._folder / "fork_server.log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-P", "-c", command, str(other.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                cwd=self._folder,
                pass_fds=[other.fileno()],
                start_new_session=True,
            )
