"""The MkDocs hook for served pages that opens the playground from an *Edit* link next to a program."""

from __future__ import annotations

import html
import re
import subprocess
import sys
import threading
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from common import ROOT
from xla_inspect.process import RUN_MODULE, Child

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from mkdocs.livereload import LiveReloadServer

PREFIX = "/play/"
"""The path of the links, before the file and the function."""

MOST = 3
"""The largest number of running playgrounds; starting another one ends the oldest."""

_PATIENCE = 60.0
"""Seconds to wait for a playground to print its address."""
_PLACE = re.compile(r'<div class="program-edit" [^>]*data-file="([^"]*)" data-function="([^"]*)"[^>]*>')

_playgrounds: list[Playgrounds] = []


class Playgrounds:
    """The web application in front of the server's own that starts a playground for a link."""

    def __init__(self, root: Path) -> None:
        """Start without playgrounds.

        Args:
            root: The folder of the project.
        """
        self._root = root
        self._programs: set[str] = set()
        self._running: dict[str, tuple[Child, str]] = {}
        self._guard = threading.Lock()
        self._port = 0
        self._app: Callable[..., Iterable[bytes]] | None = None

    def link(self, content: str) -> str:
        """Return a page's content with links to playgrounds above the commands that open them."""

        def write(place: re.Match[str]) -> str:
            program = f"{place[1]}:{place[2]}"
            self._programs.add(html.unescape(program))
            link = f'<a href="{PREFIX}{program}" target="_blank" rel="noopener">Edit</a>'
            return f"{place[0]}<p>{link} <code>{place[2]}</code> in the playground</p>"

        return _PLACE.sub(write, content)

    def begin(self, server: LiveReloadServer) -> None:
        """Handle the server's requests with paths that begin with `PREFIX`."""
        self._port, self._app = server.server_address[1], server.get_app()
        server.set_app(self)

    def end(self) -> None:
        """End all playgrounds."""
        with self._guard:
            while self._running:
                self._running.popitem()[1][0].end()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
        """Start a playground for a link and redirect to it, or pass any other request to the server."""
        path = environ["PATH_INFO"]
        if not path.startswith(PREFIX):
            return self._app(environ, start_response) if self._app else []
        program = path.removeprefix(PREFIX)
        status, text = self._answer(environ, program)
        kind = ("Location", text) if status is HTTPStatus.SEE_OTHER else ("Content-Type", "text/plain; charset=utf-8")
        start_response(f"{status.value} {status.phrase}", [kind, ("Cache-Control", "no-store")])
        return [text.encode()]

    def _answer(self, environ: dict[str, Any], program: str) -> tuple[HTTPStatus, str]:
        if program not in self._programs:
            return HTTPStatus.NOT_FOUND, f"No page shows the program {program!r}."
        # Pages of other sites must not start programs, not even through a host name that resolves to this machine.
        is_own = environ.get("HTTP_SEC_FETCH_SITE", "none") in {"none", "same-origin"}
        hosts = {f"{name}:{self._port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        if not is_own or environ.get("HTTP_HOST", "") not in hosts:
            return HTTPStatus.FORBIDDEN, (
                "The playground runs for the machine that serves this page alone. "
                f"On another one, run: xla-inspect play {program}"
            )
        # Two clicks at the same time must not start two playgrounds for one program.
        with self._guard:
            if address := self._open(program):
                return HTTPStatus.SEE_OTHER, address
        return HTTPStatus.INTERNAL_SERVER_ERROR, (
            "The playground did not start; the terminal of `mkdocs serve` shows why. "
            f"Try it there: xla-inspect play {program}"
        )

    def _open(self, program: str) -> str:
        """Return the address of a program's playground, which is started unless it runs; empty if it does not start."""
        child, address = self._running.pop(program, (None, ""))
        if child is None or child.process.poll() is not None:
            for oldest in [*self._running][: 1 - MOST]:
                self._running.pop(oldest)[0].end()
            child = Child(
                [sys.executable],
                RUN_MODULE,
                ["xla_inspect.commands", "play", program, "--no-browser"],
                folder=self._root,
                source=subprocess.DEVNULL,
            )
            match = re.search(r"http://\S+", child.listen(_PATIENCE))
            if match is None:
                child.end()
                return ""
            address = match[0]
        # Inserting the program again makes it the newest entry, so the playground used least recently ends first.
        self._running[program] = child, address
        return address


def on_startup(command: str, **_: object) -> None:
    """Enable the links only while pages are served, since the published site has no playground."""
    _playgrounds[:] = [Playgrounds(ROOT)] if command == "serve" else []


def on_page_content(content: str, **_: object) -> str:
    """Return a page's HTML; while pages are served, each program gets an *Edit* link."""
    return _playgrounds[0].link(content) if _playgrounds else content


def on_serve(server: LiveReloadServer, **_: object) -> None:
    """Handle requests for playgrounds before MkDocs does."""
    for playgrounds in _playgrounds:
        playgrounds.begin(server)


def on_shutdown() -> None:
    """End the playgrounds."""
    while _playgrounds:
        _playgrounds.pop().end()
