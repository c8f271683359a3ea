"""Answer who edits a program on a served page: what the page would show and say of it."""

from __future__ import annotations

import json
import os
import re
import secrets
import threading
import time
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livepage.edits import edit_requests, theme_frame
from livepage.edits.edit_requests import RefusedError
from livepage.edits.edit_session import EditSession
from livepage.edits.page_child import Limits
from livepage.edits.project_copy import remove_left
from livepage.read import log, project
from livepage.serve import last

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mkdocs.livereload import LiveReloadServer

MOST = 4
"""How many windows may edit at a time; what the one that rested longest had is made anew when it goes on."""

_PREFIX = "/edit/"
_PLACE = re.compile(r'<div class="program-edit"[^>]*?\sdata-file="([^"]*)"')
_CLIENT = re.compile(r"[\w-]{1,64}")
_SECURITY = [("X-Content-Type-Options", "nosniff"), ("Cache-Control", "no-store")]
_BEAT = 0.5
"""Seconds after which a browser that waits is written to, so that one that left is noticed."""

type _Answer = tuple[HTTPStatus, str, Iterable[bytes]]


class EditService:
    """Stands before a server and answers what begins with `/edit/`.

    Attributes:
        token: What a page of this server has to send with each request.
    """

    def __init__(self, read_asset: Callable[[str], tuple[bytes, str] | None], limits: Limits | None = None) -> None:
        """Begin with no page.

        Args:
            read_asset: What returns a file that pages load, and its type, by its name; None where there is none.
            limits: What the run of an edit may take.
        """
        self.token = secrets.token_urlsafe(32)
        self._read_asset, self._limits = read_asset, limits or Limits()
        self._files: dict[str, frozenset[str]] = {}
        self._sessions: dict[str, EditSession] = {}
        self._guard = threading.Lock()
        self._port = 0
        self._app: Callable[..., Iterable[bytes]] | None = None

    def mark(self, page: str, content: str) -> str:
        """Note the programs that a page names, which can be edited on it, and return its content with its borders."""
        self._files[page] = frozenset(_PLACE.findall(content))
        return theme_frame.mark(content) if self._files[page] else content

    def is_edited(self, page: str) -> bool:
        """Return whether a page names a program."""
        return bool(self._files.get(page))

    def begin(self, server: LiveReloadServer) -> None:
        """Take the place of a server's application."""
        remove_left(project.root)
        self._port = server.server_address[1]
        self._app = server.get_app()
        server.set_app(self)

    def end(self) -> None:
        """End all processes."""
        with self._guard:
            while self._sessions:
                self._sessions.popitem()[1].end()

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
        """Answer a request."""
        path = environ["PATH_INFO"]
        if not path.startswith(_PREFIX):
            return self._app(environ, start_response) if self._app else []
        try:
            status, kind, body = self._answer(environ, path.removeprefix(_PREFIX))
        except RefusedError as error:
            status, kind = error.status, "application/json"
            body = [json.dumps({"error": str(error)}).encode()]
        start_response(f"{status.value} {status.phrase}", [("Content-Type", kind), *_SECURITY])
        return body

    def _answer(self, environ: dict[str, Any], name: str) -> _Answer:
        if environ["REQUEST_METHOD"] == "GET":
            edit_requests.check_host(environ, self._port)
            if found := self._read_asset(name):
                return HTTPStatus.OK, found[1], [found[0]]
            raise RefusedError(HTTPStatus.NOT_FOUND, "there is no such file")
        if environ["REQUEST_METHOD"] != "POST":
            raise RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, "an edit is posted")
        edit_requests.check(environ, self._port, self.token)
        if name == "open":
            session, asked = self._find(environ, ("client", "page", "file"))
            session.prepare(asked["page"], asked["file"])
            text = (project.root / asked["file"]).read_text(encoding="utf-8")
            return HTTPStatus.OK, "application/json", [json.dumps({"text": text}).encode()]
        if name == "run":
            session, asked = self._find(environ, ("client", "page", "file", "text"))
            return HTTPStatus.OK, "application/x-ndjson", self._run(session, asked)
        if name == "stop":
            asked = edit_requests.read_body(environ, ("client",))
            if found_session := self._sessions.get(asked["client"]):
                found_session.stop()
            return HTTPStatus.OK, "application/json", [b"{}"]
        raise RefusedError(HTTPStatus.NOT_FOUND, "there is nothing of this name to ask")

    def _find(self, environ: dict[str, Any], names: tuple[str, ...]) -> tuple[EditSession, dict[str, str]]:
        """Return the session of a request and its fields.

        Raises:
            RefusedError: It names no program of a page.
        """
        asked = edit_requests.read_body(environ, names)
        if not _CLIENT.fullmatch(asked["client"]):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "this is no name of a window")
        if asked["file"] not in self._files.get(asked["page"], ()) or not _is_program(asked["file"]):
            raise RefusedError(HTTPStatus.NOT_FOUND, "this page names no such program")
        with self._guard:
            session = self._sessions.pop(asked["client"], None)
            session = session or EditSession(project.root, _find_caches, self._limits)
            self._sessions[asked["client"]] = session
            rested = sorted(self._sessions, key=lambda client: self._sessions[client].used)
            left = [self._sessions.pop(client) for client in rested[: max(0, len(rested) - MOST)]]
        for each in left:
            each.end()
        return session, asked

    def _run(self, session: EditSession, asked: dict[str, str]) -> Iterator[bytes]:
        """Yield what an edit comes to, an event a line."""
        begun = written = time.monotonic()
        last_event: dict[str, Any] = {}
        for told in session.run(asked["page"], asked["file"], asked["text"]):
            event = {name: value for name, value in told.items() if name != "job"}
            now = time.monotonic()
            if not event or (event == last_event and event["event"] == "work"):
                if now - written > _BEAT:
                    written = now
                    yield b"\n"
                continue
            last_event = event
            if event["event"] == "page":
                event["html"] = self._dress(asked["page"], event.pop("content"))
            written = now
            yield json.dumps({**event, "took": round(now - begun, 2)}).encode() + b"\n"

    def _dress(self, page: str, content: str) -> str:
        if last.built is None or page not in last.built.pages:
            return content
        try:
            return theme_frame.dress(last.built, page, content)
        except Exception as error:  # noqa: BLE001 - a template that is being edited
            log.info("the theme cannot show an edit of %s: %s", page, error)
            return content


def _is_program(name: str) -> bool:
    """Return whether a name is that of a Python file of the project, and of nothing outside of it."""
    path = project.root / name
    return (
        name.endswith(".py")
        and ".." not in Path(name).parts
        and path.is_file()
        and path.resolve().is_relative_to((project.root / "snippets").resolve())
    )


def _find_caches() -> dict[str, Path]:
    """Return the folders into which blocks may write, by the variables that name them."""
    return {
        name: Path(folder)
        for name in project.adapter.caches
        if (folder := os.environ.get(name, "")) and Path(folder).is_absolute()
    }
