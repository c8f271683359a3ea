"""The processes of the playground, as the server sees them: each forked from the nursery, and heard until it ends."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect.play.pipe_messages import Receiver, Sender

if TYPE_CHECKING:
    from collections.abc import Callable

PRINTED = 1 << 16
"""Characters that are kept of what a process prints."""

STACKS = ".stacks"
"""The file in its folder that says where the code was when its time was over or when it crashed."""

FLOOD = 1 << 26
"""Bytes after which a process that prints is ended."""

_PART = 1 << 18


class Offspring:
    """A process that was forked from the nursery.

    Args:
        number: Its number, which no other has.
        folder: The folder that it runs in.
        descriptors: What it is spoken to and heard through: requests, answers, output, control, status.
        mark: What its messages are known by.

    Attributes:
        is_ready: Whether it has said that it is.
        report: How it ended, as its keeper says; None while it runs.
        printed: What it printed, up to `PRINTED`.
        stacks: Where its code was when it crashed, as `faulthandler` wrote it.
        is_flooded: Whether it was ended because it printed so much.
    """

    def __init__(self, number: int, folder: Path, descriptors: tuple[int, ...], mark: str) -> None:
        """Hear nothing yet."""
        self.number, self.folder = number, folder
        self.is_ready = self.is_flooded = False
        self.report: dict[str, Any] | None = None
        self.printed = self.stacks = ""
        self._requests, self._answers, self._output, self._control, self._status = descriptors
        self._receiver, self._sender = Receiver(mark), Sender(self._requests, mark)
        self._lock = threading.Lock()
        self._hear: Callable[[dict[str, Any]], None] = _ignore
        self._held: list[dict[str, Any]] = []
        self._count = 0
        self._is_asked = False
        threading.Thread(target=self._listen, name=f"play-{number}", daemon=True).start()

    def hear(self, tell: Callable[[dict[str, Any]], None]) -> None:
        """Tell each message from now on, those that came already, and at last `{"kind": "ended"}`."""
        with self._lock:
            held, self._held, self._hear = self._held, [], tell
        for message in held:
            tell(message)

    def send(self, message: dict[str, Any]) -> None:
        """Send a message; one that has ended hears nothing."""
        with contextlib.suppress(OSError):
            self._sender.send(message)

    def end(self) -> None:
        """End it, and all that it started."""
        with self._lock:
            if self._is_asked:
                return
            self._is_asked = True
            with contextlib.suppress(OSError):
                os.write(self._control, b"x")

    def _listen(self) -> None:
        with selectors.DefaultSelector() as selector:
            for descriptor in (self._answers, self._output, self._status):
                selector.register(descriptor, selectors.EVENT_READ)
            status = b""
            while selector.get_map():
                # What its own processes may hold open still ends when its keeper has.
                for key, _ in selector.select():
                    descriptor = int(key.fd)
                    data = os.read(descriptor, _PART)
                    if not data:
                        selector.unregister(descriptor)
                    elif descriptor == self._answers:
                        for message in self._receiver.feed(data):
                            self._tell(message)
                    elif descriptor == self._output:
                        self._print(data)
                    else:
                        status += data
                if self._status not in {key.fd for key in selector.get_map().values()}:
                    self._drain(selector)
                    break
        with contextlib.suppress(ValueError):
            self.report = json.loads(status or b"{}")
        self.report = self.report or {"code": -signal.SIGKILL, "reason": ""}
        with self._lock:
            self._is_asked = True
            for descriptor in (self._requests, self._answers, self._output, self._control, self._status):
                os.close(descriptor)
        with contextlib.suppress(OSError), (self.folder / STACKS).open(encoding="utf-8", errors="replace") as stacks:
            self.stacks = stacks.read(1 << 20)
        remove(self.folder)
        self._tell({"kind": "ended"})

    def _drain(self, selector: selectors.BaseSelector) -> None:
        """Take what is still in the pipes."""
        for key in list(selector.get_map().values()):
            descriptor = int(key.fd)
            os.set_blocking(descriptor, False)
            with contextlib.suppress(BlockingIOError):
                while data := os.read(descriptor, _PART):
                    if descriptor == self._answers:
                        for message in self._receiver.feed(data):
                            self._tell(message)
                    else:
                        self._print(data)

    def _print(self, data: bytes) -> None:
        self._count += len(data)
        if len(self.printed) < PRINTED:
            self.printed += data.decode("utf-8", errors="replace")[: PRINTED - len(self.printed)]
        if self._count > FLOOD and not self.is_flooded:
            self.is_flooded = True
            self.end()

    def _tell(self, message: dict[str, Any]) -> None:
        if message.get("kind") == "ready":
            self.is_ready = True
        with self._lock:
            if self._hear is _ignore:
                self._held.append(message)
                return
        self._hear(message)


def _ignore(_: dict[str, Any]) -> None:
    """Hear nothing: what comes is held."""


class Nursery:
    """The process that all others are forked from; it is started again where it ends.

    Args:
        folder: The server's own folder.
        memory: Bytes of memory that each process may take.
    """

    def __init__(self, folder: Path, memory: int) -> None:
        """Start it."""
        self._folder, self._memory = folder, memory
        self._lock = threading.Lock()
        self._count = 0
        self._is_closed = False
        self._start()

    def fork(self, role: str, *, watched: bool = True, **order: Any) -> Offspring:  # noqa: ANN401 - what the role takes
        """Return a new process.

        Args:
            role: What it does, see `nursery.load_roles`.
            watched: Whether it is ended where it takes too much.
            **order: What the role is told.

        Raises:
            OSError: No process can be had.
        """
        with self._lock:
            if self._is_closed:
                message = "the playground is ending"
                raise OSError(message)
            if self._process.poll() is not None:
                self._channel.close()
                self._start()
            self._count += 1
            number = self._count
            folder = self._folder / f"{role}-{number}"
            folder.mkdir(mode=0o700)
            pipes = [os.pipe() for _ in range(5)]
            (requests, requested), (answered, answers), (printed, output), (control, controlled), (said, status) = pipes
            mark = secrets.token_hex(16)
            told = {
                **order,
                "role": role,
                "folder": str(folder),
                "mark": mark,
                "memory": self._memory,
                "watched": watched,
            }
            given = [requests, answers, output, control, status]
            try:
                socket.send_fds(self._channel, [json.dumps(told).encode()], given)
            finally:
                for descriptor in given:
                    os.close(descriptor)
        return Offspring(number, folder, (requested, answered, printed, controlled, said), mark)

    def close(self) -> None:
        """End it; what was forked from it ends where it is asked to, or where the server has ended."""
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
        with other, (self._folder / "nursery.log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-P", "-c", "from xla_inspect.play.nursery import main; main()", str(other.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                cwd=self._folder,
                pass_fds=[other.fileno()],
                start_new_session=True,
            )


def remove(folder: Path) -> None:
    """Remove a folder, however deep it is and whatever its rights."""
    for _ in range(2):
        shutil.rmtree(folder, onexc=_open_up)
        if not folder.exists():
            return


def _open_up(_: object, path: str, __: BaseException) -> None:
    with contextlib.suppress(OSError):
        Path(path).parent.chmod(0o700)
        if not Path(path).is_symlink():
            Path(path).chmod(0o700)
