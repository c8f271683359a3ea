"""The connection to browsers: they reload a page after it was rebuilt, and wait for pages that are being built."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from mkdocs.livereload import LiveReloadServer

SCRIPT = Path(__file__).with_name("progress.js")
SCRIPT_ADDRESS = "/livereload/progress.js"
"""The address of the script that shows in a served page how much of the site is still being built."""

_OWN = {SCRIPT_ADDRESS: "text/javascript", "/livereload/progress": "application/json"}
_POLL = re.compile(r"/livereload/([0-9]+)/[0-9]+")


class Browsers:
    """The web application in front of MkDocs' server, which itself reloads all browsers and delays all requests.

    Browsers poll for changes; the `Referer` header of such a request names the page that the browser shows.
    """

    def __init__(self, server: LiveReloadServer, describe: Callable[[], bytes], visit: Callable[[str], None]) -> None:
        """Replace the server's application.

        Args:
            server: MkDocs' server.
            describe: A function that returns the progress of the build as JSON.
            visit: A function that is called with the address of each page that a browser shows.
        """
        self._server, self._describe, self._visit = server, describe, visit
        self._changed = server._epoch_cond  # noqa: SLF001 - MkDocs waits for the same condition
        self._whole: int = server._wanted_epoch  # noqa: SLF001 - the time of the build
        self._shown: dict[str, int] = {}
        self._held: set[str] = set()
        self._ready: Collection[str] | None = None
        server.set_app(self)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
        """Answer a request; a page that is about to be built is answered once it is."""
        path = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "ignore")
        if poll := _POLL.fullmatch(path):
            referer = environ.get("HTTP_REFERER", "")
            self._server._log_poll_request(referer, request_id=path)  # noqa: SLF001 - as MkDocs does
            start_response("200 OK", [("Content-Type", "text/plain")])
            return [b"%d" % self._await_change(referer, int(poll[1]))]
        if path in _OWN:
            start_response("200 OK", [("Content-Type", _OWN[path]), ("Cache-Control", "no-store")])
            return [SCRIPT.read_bytes() if path == SCRIPT_ADDRESS else self._describe()]
        address = self._find(path)
        self._visit(address)
        with self._changed:
            self._changed.wait_for(lambda: not self._is_held(address))
        return self._server.serve_request(environ, start_response)

    def hold(self, pages: Iterable[str], ready: Collection[str]) -> None:
        """Delay only requests for these pages, and for addresses that are neither a page nor a copied file.

        Args:
            pages: The addresses of the pages that are about to be built, relative to the site.
            ready: The addresses of all pages and copied files.
        """
        with self._changed:
            self._held, self._ready = set(map(unquote, pages)), frozenset(map(unquote, ready))
            self._server._visible_epoch = self._server._wanted_epoch  # noqa: SLF001 - otherwise MkDocs delays every request
            self._changed.notify_all()

    def show(self, page: str) -> None:
        """Reload the browsers that show a page that has just been built."""
        with self._changed:
            self._held.discard(unquote(page))
            self._shown[unquote(page)] = self._server._wanted_epoch  # noqa: SLF001 - the time of this build
            self._changed.notify_all()

    def release(self) -> None:
        """Stop delaying requests."""
        with self._changed:
            self._held, self._ready = set(), None
            self._changed.notify_all()

    def show_all(self) -> None:
        """Reload every browser, and stop delaying requests."""
        with self._changed:
            self._whole = self._server._wanted_epoch  # noqa: SLF001 - the time of this build
        self.release()

    def _await_change(self, referer: str, time_of_page: int) -> int:
        """Wait until a page has a newer build than the browser, but not forever; return the time of its last build.

        A browser that does not say which page it shows waits for a build of any page.
        """
        address = self._find(unquote(urlsplit(referer).path)) if referer else None
        if address is not None:
            self._visit(address)

        def find_last() -> int:
            times = self._shown.values() if address is None else [self._shown.get(address, 0)]
            return max(self._whole, *times, 0)

        with self._changed:
            self._changed.wait_for(lambda: find_last() > time_of_page, timeout=self._server.poll_response_timeout)
            return find_last()

    def _find(self, path: str) -> str:
        """Return the address that a request's path asks for, relative to the site, in the form that MkDocs uses."""
        address = path.removeprefix(self._server.mount_path)
        folder, name = posixpath.split(address)
        return (f"{folder}/" if folder else "./") if name in {"", "index.html"} else address

    def _is_held(self, address: str) -> bool:
        return address in self._held or (self._ready is not None and address not in self._ready)
