"""Tell browsers when the page that they show was built again, and let them wait for what is being built."""

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
"""Where a served page finds the script that shows how much of the site is still to come."""

_OWN = {SCRIPT_ADDRESS: "text/javascript", "/livereload/progress": "application/json"}
_POLL = re.compile(r"/livereload/([0-9]+)/[0-9]+")


class Browsers:
    """Stands before MkDocs' server, which reloads every browser at each build, and holds every request meanwhile.

    A browser that asks whether its page is still good says by its `Referer` which one that is.
    """

    def __init__(self, server: LiveReloadServer, describe: Callable[[], bytes], visit: Callable[[str], None]) -> None:
        """Take the place of the server's application.

        Args:
            server: MkDocs' server.
            describe: What says, as JSON, how much of the site is still to come.
            visit: Who hears of the address of each page that somebody looks at.
        """
        self._server, self._describe, self._visit = server, describe, visit
        self._changed = server._epoch_cond  # noqa: SLF001 - what MkDocs itself waits for
        self._whole: int = server._wanted_epoch  # noqa: SLF001 - the time of the build
        self._shown: dict[str, int] = {}
        self._held: set[str] = set()
        self._ready: Collection[str] | None = None
        server.set_app(self)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
        """Answer a request."""
        path = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "ignore")
        if asked := _POLL.fullmatch(path):
            referer = environ.get("HTTP_REFERER", "")
            self._server._log_poll_request(referer, request_id=path)  # noqa: SLF001 - as MkDocs does
            start_response("200 OK", [("Content-Type", "text/plain")])
            return [b"%d" % self._await_change(referer, int(asked[1]))]
        if path in _OWN:
            start_response("200 OK", [("Content-Type", _OWN[path]), ("Cache-Control", "no-store")])
            return [SCRIPT.read_bytes() if path == SCRIPT_ADDRESS else self._describe()]
        address = self._find(path)
        self._visit(address)
        with self._changed:
            self._changed.wait_for(lambda: not self._is_held(address))
        return self._server.serve_request(environ, start_response)

    def hold(self, pages: Iterable[str], ready: Collection[str]) -> None:
        """Let only those wait who ask for these pages, or for what is no page and no file that was copied.

        Args:
            pages: The addresses of the pages that are about to be built, relative to the site.
            ready: The addresses of all pages and copied files.
        """
        with self._changed:
            self._held, self._ready = set(map(unquote, pages)), frozenset(map(unquote, ready))
            self._server._visible_epoch = self._server._wanted_epoch  # noqa: SLF001 - or MkDocs holds every request
            self._changed.notify_all()

    def show(self, page: str) -> None:
        """Reload the browsers that show a page, which is built."""
        with self._changed:
            self._held.discard(unquote(page))
            self._shown[unquote(page)] = self._server._wanted_epoch  # noqa: SLF001 - the time of this build
            self._changed.notify_all()

    def release(self) -> None:
        """Hold nothing any longer."""
        with self._changed:
            self._held, self._ready = set(), None
            self._changed.notify_all()

    def show_all(self) -> None:
        """Reload every browser, and hold nothing any longer."""
        with self._changed:
            self._whole = self._server._wanted_epoch  # noqa: SLF001 - the time of this build
        self.release()

    def _await_change(self, referer: str, known: int) -> int:
        """Return the time of the last build of a page, as soon as it is later than a browser knows, or after a while.

        One that does not say which page it shows is told of any.
        """
        address = self._find(unquote(urlsplit(referer).path)) if referer else None
        if address is not None:
            self._visit(address)

        def find_last() -> int:
            times = self._shown.values() if address is None else [self._shown.get(address, 0)]
            return max(self._whole, *times, 0)

        with self._changed:
            self._changed.wait_for(lambda: find_last() > known, timeout=self._server.poll_response_timeout)
            return find_last()

    def _find(self, path: str) -> str:
        """Return the address of what a path asks for, relative to the site, as MkDocs writes it."""
        address = path.removeprefix(self._server.mount_path)
        folder, name = posixpath.split(address)
        return (f"{folder}/" if folder else "./") if name in {"", "index.html"} else address

    def _is_held(self, address: str) -> bool:
        return address in self._held or (self._ready is not None and address not in self._ready)
