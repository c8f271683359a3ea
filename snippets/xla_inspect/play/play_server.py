"""The playground's HTTP server, which listens on the loopback address and answers only its own page."""

from __future__ import annotations

import contextlib
import http.server
import itertools
import json
import secrets
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from xla_inspect.errors import InspectError
from xla_inspect.play import request_checks
from xla_inspect.play.copied_texts import Copied
from xla_inspect.play.play_page import read_static, write_page
from xla_inspect.play.request_checks import RefusedError
from xla_inspect.targets import TARGETS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect.play.process_pool import ProcessPool

ADDRESS = "127.0.0.1"
PORT, PORTS = 8484, 50
"""The first port to try, and the number of ports to try."""

PATIENCE = 20.0
"""The time limit in seconds for receiving a request."""

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data: blob:; worker-src 'self' blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
JSON = "application/json; charset=utf-8"


class PlayServer(http.server.ThreadingHTTPServer):
    """The HTTP server of the playground.

    Args:
        port: The port; 0 for any free port.
        pool: The processes that answer edits.
        start: The initial content of the page.
    """

    # An open connection must not keep the process alive after a signal.
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    # A restarted server reuses its port, so the reader's open page still works; on Windows two servers could share it.
    allow_reuse_address = sys.platform != "win32"

    def __init__(self, port: int, pool: ProcessPool, start: Mapping[str, Any]) -> None:
        """Open the port, without answering requests yet.

        Raises:
            OSError: The port is in use.
        """
        super().__init__((ADDRESS, port), PlayHandler)
        self.pool, self.start = pool, dict(start)
        # Another page in the same browser can reach this port, but it cannot read a token from this server's page.
        self.token = secrets.token_urlsafe(32)

    @property
    def address(self) -> str:
        """The URL of the page."""
        return f"http://{ADDRESS}:{self.server_port}/"

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore broken connections, and print any other error on one line."""
        del request, client_address
        error = sys.exception()
        # A browser closes connections at any time, which is not worth a message.
        if not isinstance(error, OSError):
            print(f"xla-inspect play: {type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201 - a command prints


def listen(port: int | None, pool: ProcessPool, start: Mapping[str, Any]) -> PlayServer:
    """Return a server that has opened the first free port of several, and does not answer requests yet.

    Args:
        port: The first port to try, by default `PORT`; 0 for any free port.
        pool: The processes that answer edits.
        start: The initial content of the page.

    Raises:
        InspectError: All of the ports are in use.
    """
    first = PORT if port is None else port
    tried = range(first, min(first + PORTS, 1 << 16)) if first else (0,)
    for candidate in tried:
        with contextlib.suppress(OSError):
            return PlayServer(candidate, pool, start)
    message = f"the ports from {first} to {tried[-1]} are taken; name another, as in --port 0 for any that is free"
    raise InspectError(message)


class PlayHandler(http.server.BaseHTTPRequestHandler):
    """The handler of one connection to the server."""

    server: PlayServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "xla-inspect", ""
    timeout = PATIENCE

    def do_GET(self) -> None:
        """Answer with the page, one of its files, or its initial content."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Answer one of the page's JSON requests."""
        self._answer(self._post)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
        """Log nothing."""

    def version_string(self) -> str:
        """Return the value of the `Server` header."""
        return self.server_version

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse a request that cannot be parsed, or whose method is not supported."""
        del explain
        self.close_connection = True
        self._send(code, JSON, _print({"error": (message or "the request cannot be read")[:200]}))

    def _answer(self, answer: Callable[[], None]) -> None:
        try:
            answer()
        except RefusedError as error:
            # The rest of the request is not read, so the connection cannot be used again.
            self.close_connection = True
            self._send(error.status, JSON, _print({"error": str(error)}))
        except InspectError as error:
            self._send(409, JSON, _print({"error": str(error)}))
        except OSError:
            self.close_connection = True

    def _get(self) -> None:
        path = self._find_path()
        is_page = path == "/" or path.startswith("/static/")
        self._check(is_page=is_page)
        if path == "/":
            self._send(200, "text/html; charset=utf-8", write_page(self.server.token).encode())
        elif path == "/start":
            self._send(200, JSON, _print(self.server.start))
        elif is_page and (static := read_static(path.removeprefix("/static/"))):
            self._send(200, static[1], static[0])
        else:
            self._refuse_path(path)

    def _post(self) -> None:
        path = self._find_path()
        self._check(is_page=False)
        answers: dict[str, Callable[[dict[str, Any]], None]] = {
            "/describe": self._describe,
            "/compile": self._compile,
            "/details": self._tell_details,
            "/stop": self._stop,
            "/copy": self._copy,
        }
        if path not in answers:
            self._refuse_path(path)
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise RefusedError(415, "a request is of the type application/json")
        length = request_checks.find_length(self.headers)
        # A connection that closes early delivers fewer bytes than the header announces.
        content = self.rfile.read(length)
        if len(content) < length:
            raise RefusedError(400, "the body is shorter than it says")
        answers[path](request_checks.read_body(content))

    def _find_path(self) -> str:
        try:
            return urlsplit(self.path).path if self.path.startswith("/") and "//" not in self.path else ""
        except ValueError:
            return ""

    def _refuse_path(self, path: str) -> None:
        raise RefusedError(404, f"there is nothing at {path[:100]!r}")

    def _check(self, *, is_page: bool) -> None:
        request_checks.check_sender(self.headers, self.server.server_port, self.server.token, is_page=is_page)

    def _describe(self, body: dict[str, Any]) -> None:
        code, function = request_checks.take_text(body, "code"), request_checks.take_text(body, "function", "")
        self._send(200, JSON, _print(self.server.pool.describe(code, function)))

    def _tell_details(self, body: dict[str, Any]) -> None:
        names = (request_checks.take_text(body, name) for name in ("id", "target"))
        self._send(200, JSON, _print(self.server.pool.details(*names)))

    def _stop(self, body: dict[str, Any]) -> None:
        stopped = self.server.pool.stop(request_checks.take_text(body, "client"))
        self._send(200, JSON, _print({"stopped": stopped}))

    def _copy(self, body: dict[str, Any]) -> None:
        edit = request_checks.read_edit(body, {*TARGETS})
        kind = request_checks.take_text(body, "kind")
        pool, start = self.server.pool, self.server.start
        description = pool.describe(edit["code"], edit["function"])
        chosen = {**edit, "function": description["chosen"] or edit["function"]}
        numbers = pool.recall(chosen)
        arguments = edit["arguments"] or description["arguments"]
        # An example does not come from a file of the reader, so it counts as not saved.
        is_saved = edit["code"] == start["code"] not in [example["code"] for example in start["examples"]]
        text = Copied(chosen, start["file"], arguments, start["versions"], numbers, is_saved=is_saved).write(kind)
        if text is None:
            raise RefusedError(400, "kind has to be test, issue or command")
        self._send(200, JSON, _print({"text": text}))

    def _compile(self, body: dict[str, Any]) -> None:
        edit = request_checks.read_edit(body, {*TARGETS})
        if not edit["targets"]:
            raise RefusedError(400, "targets has to name at least one")
        events = self.server.pool.answer_edit(edit)
        # The first event is requested before the headers are sent, so that a refusal can still set the status.
        first = next(events)
        # The length of the answer is not known, so closing the connection marks its end.
        self.close_connection = True
        self._begin(200, {"Content-Type": "application/x-ndjson"})
        # If the page was closed, writing fails, which closes the generator of events and thus ends the edit.
        with contextlib.closing(events):
            for event in itertools.chain([first], events):
                self.wfile.write((b"" if event["event"] == "waiting" else _print(event)) + b"\n")

    def _begin(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        closes = {"Connection": "close"} if self.close_connection else {}
        for name, value in {**headers, **_HEADERS, **closes}.items():
            self.send_header(name, value)
        self.end_headers()

    def _send(self, status: int, kind: str, content: bytes) -> None:
        with contextlib.suppress(OSError):
            self._begin(status, {"Content-Type": kind, "Content-Length": str(len(content))})
            if self.command != "HEAD":
                self.wfile.write(content)


def _print(content: object) -> bytes:
    # The JSON is pure ASCII because a text may contain lone surrogates, which no encoding can represent.
    return json.dumps(content, separators=(",", ":")).encode("ascii")
