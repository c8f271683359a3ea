"""A playground that is started for tests and benchmarks, with the requests that its own page would send."""

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
"""The environment variable that identifies all processes of a playground."""
PATIENCE = 90
"""Seconds to wait for a playground to start or to answer, on a machine with other work."""


@dataclass
class Answer:
    """The response of a playground to one request.

    Attributes:
        status: The HTTP status.
        headers: The headers, by their names in lower case.
        content: The body.
    """

    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events of a compilation, one for each line."""
        return [json.loads(line) for line in self.content.splitlines() if line.strip()]


@dataclass
class Playground:
    """A running playground.

    Attributes:
        process: The playground's process, the first of its session.
        port: The port on which it listens.
        mark: The value in the environment of each of its processes.
        printed: The lines that it printed.
        token: The token that its page sends with each request.
    """

    process: subprocess.Popen[str]
    mark: str
    port: int = 0
    printed: list[str] = field(default_factory=list)
    token: str = ""

    @property
    def address(self) -> str:
        """The address of the playground's page, without a slash at the end."""
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
        """Send one request, with the token unless other headers are given, and return the response.

        Raises:
            OSError: The playground did not answer.
        """
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if headers is None:
            headers = {"X-Play-Token": self.token, "Content-Type": "application/json", "Origin": self.address}
        # `http.client` sends the given headers unchanged, also faulty ones for trials of the server's checks.
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=patience)
        try:
            connection.request(method or ("GET" if content is None else "POST"), path, content, dict(headers))
            response = connection.getresponse()
            fields = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, fields, response.read())
        finally:
            connection.close()

    def compile(self, code: str, **fields: object) -> Answer:
        """Send code to be compiled, by default with a function `f` of one small array, for the CPU."""
        body = {
            "id": uuid.uuid4().hex,
            "client": "trial",
            "code": code,
            "function": "f",
            "arguments": "x: f32[8]",
            "targets": ["cpu"],
            "options": {},
        }
        return self.ask("/compile", {**body, **fields})

    def describe(self, code: str, function: str = "f") -> Answer:
        """Request the definitions of a source text, which is not executed."""
        return self.ask("/describe", {"code": code, "function": function})

    def processes(self) -> dict[int, str]:
        """Return the running processes of this playground, as command lines by process id."""
        commands = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                environment = (folder / "environ").read_bytes()
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                state = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
                # Ended processes (Z, X) still have entries until their parent has read their status.
                if f"{MARK}={self.mark}".encode() in environment and state not in "ZX":
                    commands[int(folder.name)] = command
        return commands

    def list_busy(self, seconds: float) -> list[str]:
        """Return the command lines of children that use more than a twentieth of the processor for some seconds."""
        before = self._list_times()
        time.sleep(seconds)
        used = {number: after - before.get(number, 0) for number, after in self._list_times().items()}
        commands = self.processes()
        # The server itself looks at its children all the time.
        return [
            command
            for number, command in commands.items()
            if number != self.process.pid and used.get(number, 0) > seconds / 20
        ]

    def _list_times(self) -> dict[int, float]:
        """Return the seconds of processor time that each running process has used."""
        times = {}
        for number in self.processes():
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{number}/stat").read_text(errors="replace").rpartition(")")[2].split()
                times[number] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return times

    def end(self) -> None:
        """End the server as its user would, then kill its remaining processes."""
        with contextlib.suppress(OSError):
            self.process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        for _ in range(20):
            if not (survivors := self.processes()):
                break
            for process in survivors:
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
    """Start a playground, and end it with all of its processes.

    Args:
        options: The arguments after `xla-inspect play`.
        folder: The folder in which it is started.
        environment: Variables in addition to those of this process.

    Raises:
        RuntimeError: The playground did not start.
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
            if not playground.port and (match := ADDRESS.search(line)):
                playground.port = int(match[1])
            # A playground may run for long, so only the last lines are stored.
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
