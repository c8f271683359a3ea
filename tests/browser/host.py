"""A built site, served on this machine as a host of static files would: compressed, with a page for missing ones."""

from __future__ import annotations

import gzip
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from mimetypes import guess_type
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

COMPRESSED = ("text/", "application/json", "image/svg+xml")


@dataclass
class Site:
    """A served site.

    Attributes:
        folder: The folder of its files.
        address: Its URL, without a slash at the end.
        sent: Path and size in bytes of every answer, in order, headers not counted.
        packed: The content of each file that was sent, compressed if it is sent so.
    """

    folder: Path
    address: str = ""
    sent: list[tuple[str, int]] = field(default_factory=list)
    packed: dict[Path, bytes] = field(default_factory=dict)

    @property
    def html(self) -> list[str]:
        """Every page, as its path below the site's root."""
        return sorted(path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*.html"))


@contextmanager
def serve(folder: Path, packed: dict[Path, bytes] | None = None) -> Generator[Site]:
    """Serve a built site on this machine, reusing files that another server has already compressed."""
    served = Site(folder, packed={} if packed is None else packed)
    with _Server(("127.0.0.1", 0), _handler(served)) as server:
        served.address = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield served
        server.shutdown()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Report an error, except one from a page that was closed during a response."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # handed on as it came


def _handler(site: Site) -> type[BaseHTTPRequestHandler]:
    packed = site.packed

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = site.folder / self.path.partition("?")[0].lstrip("/")
            path = path / "index.html" if path.is_dir() else path
            status = HTTPStatus.OK if path.is_file() else HTTPStatus.NOT_FOUND
            if status == HTTPStatus.NOT_FOUND:
                path = site.folder / "404.html"
            kind = guess_type(path)[0] or "application/octet-stream"
            compress = kind.startswith(COMPRESSED)
            if path not in packed:
                content = path.read_bytes()
                packed[path] = gzip.compress(content, 9) if compress else content
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8" if compress else kind)
            self.send_header("Content-Length", str(len(packed[path])))
            if compress:
                self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            # Who got the answer may ask at once what was sent.
            site.sent.append((self.path, len(packed[path])))
            self.wfile.write(packed[path])

        def log_message(self, *_: object) -> None:
            """Log nothing about a request."""

    return Handler
