"""A playground that is started for a trial, and what is asked of it, as its own page would ask."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)")
TOKEN = re.compile(r'<meta name="play-token" content="([^"]+)"')
COMMAND = (sys.executable, "-m", "xla_inspect.commands", "play", "--no-browser")
MARK = "PLAY_TRIAL"
"""The variable by which every process that a playground started is found again."""
PATIENCE = 90
"""Seconds that a playground may take to start, and an edit to be answered, where other work shares the machine."""


@dataclass
class Answer:
    """What a playground answered to one request.

    Attributes:
        status: The HTTP status.
        headers: The headers, by their names in small letters.
        content: The body.
    """

    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events of a compile, a line each."""
        return [json.loads(line) for line in self.content.splitlines() if line.strip()]


@dataclass
class Playground:
    """A running playground.

    Attributes:
        process: Its process, the first of its session.
        port: Where it listens.
        mark: What stands in the environment of each of its processes.
        printed: What it printed.
    """

    process: subprocess.Popen[str]
    mark: str
    port: int = 0
    printed: list[str] = field(default_factory=list)
    token: str = ""

    @property
    def address(self) -> str:
        """Where its page is, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        *,
        method: str | None = None,
        patience: float = PATIENCE,
    ) -> Answer:
        """Send one request, with the token unless other headers are given, and return what was answered.

        Raises:
            OSError: The playground did not answer.
        """
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if headers is None:
            headers = {"X-Play-Token": self.token, "Content-Type": "application/json", "Origin": self.address}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=patience)
        try:
            connection.request(method or ("GET" if content is None else "POST"), path, content, dict(headers))
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())
        finally:
            connection.close()

    def compile(self, code: str, **asked: object) -> Answer:
        """Send code, by default with one function `f` of one small array, for the CPU."""
        body = {
            "id": uuid.uuid4().hex,
            "client": "trial",
            "code": code,
            "function": "f",
            "arguments": "x: f32[8]",
            "targets": ["cpu"],
            "options": {},
        }
        return self.ask("/compile", {**body, **asked})

    def describe(self, code: str, function: str = "f") -> Answer:
        """Ask what a text defines, which runs nothing of it."""
        return self.ask("/describe", {"code": code, "function": function})

    def processes(self) -> dict[int, str]:
        """Return the command of each process that this playground, or what it ran, has started and that still runs."""
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                environment = (folder / "environ").read_bytes()
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                state = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
                if f"{MARK}={self.mark}".encode() in environment and state not in "ZX":
                    found[int(folder.name)] = command
        return found

    def end(self) -> None:
        """End the server as its user would, and then whatever is left of it."""
        with contextlib.suppress(OSError):
            self.process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        for _ in range(20):
            if not (left := self.processes()):
                break
            for process in left:
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.05)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)


@contextlib.contextmanager
def play(
    *options: str,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Playground]:
    """Start a playground, and end it with all that it started.

    Args:
        options: What is written after `xla-inspect play`.
        folder: Where it is started.
        environment: Variables beside those of this process.

    Raises:
        RuntimeError: It did not start.
    """
    mark = uuid.uuid4().hex
    command = [*COMMAND, *([] if "--port" in options else ["--port", "0"]), *options]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **(environment or {}), MARK: mark, "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    playground = Playground(process, mark)
    try:
        _await_start(playground)
        yield playground
    finally:
        playground.end()


def _await_start(playground: Playground) -> None:
    def read() -> None:
        for line in playground.process.stdout or ():
            playground.printed.append(line)
            if not playground.port and (found := ADDRESS.search(line)):
                playground.port = int(found[1])
            del playground.printed[:-200]

    threading.Thread(target=read, daemon=True).start()
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and playground.process.poll() is None:
        if playground.port:
            with contextlib.suppress(OSError):
                if token := TOKEN.search(playground.ask("/", headers={}).content.decode()):
                    playground.token = token[1]
                    return
        time.sleep(0.05)
    message = f"the playground did not start: {''.join(playground.printed)}"
    raise RuntimeError(message)
