"""Raw HTTP requests that no page and no library would send."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from measuring.trial_server import Playground

CODE = "def f(x):\n    return x * 2\n"
ASKED = {
    "id": "1",
    "client": "odd",
    "code": CODE,
    "function": "f",
    "arguments": "x: f32[8]",
    "targets": ["cpu"],
    "options": {},
}
PATIENCE = 20
"""Seconds after which a request that is not answered counts as hanging."""
PATHS = ("/start", "/describe", "/compile", "/details", "/stop", "/copy")


def send(server: Playground, raw: bytes, *, half_closed: bool = False, patience: float = PATIENCE) -> bytes:
    """Send bytes unchanged, and return the response until the server closes or is silent for a second."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=patience) as connection:
        with contextlib.suppress(OSError):  # it may answer, and close, before it has read all
            connection.sendall(raw)
            if half_closed:
                connection.shutdown(socket.SHUT_WR)
        answer = b""
        with contextlib.suppress(OSError):
            while part := connection.recv(1 << 16):
                answer += part
                connection.settimeout(1)
        return answer


def head(server: Playground, line: str, **headers: str | None) -> bytes:
    """Return the head of a request with valid headers, except for the given ones."""
    head_lines = {"Host": f"127.0.0.1:{server.port}", "X-Play-Token": server.token, "Origin": server.address}
    head_lines |= {"Content-Type": "application/json", "Connection": "close"}
    all_of = {**head_lines, **{name.replace("_", "-"): value for name, value in headers.items()}}
    lines = [line, *(f"{name}: {value}" for name, value in all_of.items() if value is not None)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def post(server: Playground, path: str, body: bytes, **headers: str | None) -> bytes:
    """Return a request with a body."""
    return head(server, f"POST {path} HTTP/1.1", **{"Content_Length": str(len(body)), **headers}) + body


def status(answer: bytes) -> int:
    """Return the HTTP status code of a response; assert that it is not empty."""
    assert answer, "nothing was answered"
    return int(answer.split()[1])


def refused(server: Playground, answer: bytes) -> bool:
    """Return whether a response has a status of 400 to 499; assert that it has no token and no traceback."""
    assert server.token.encode() not in answer
    assert b"Traceback" not in answer
    return 400 <= status(answer) < 500
