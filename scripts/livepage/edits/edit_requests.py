"""Who may ask a server on this machine to run code: a page of its own, and nobody else."""

from __future__ import annotations

import hmac
import ipaddress
import json
from http import HTTPStatus
from typing import Any

LONGEST = 2**20
"""Bytes of a request."""
DROPPED = 1 << 24
"""Bytes of a longer one that are read and dropped."""


class RefusedError(Exception):
    """A request that is not answered.

    Attributes:
        status: What HTTP calls it.
    """

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        """Take what HTTP calls it, and why in words."""
        super().__init__(reason)
        self.status = status


def check_host(environ: dict[str, Any], port: int) -> None:
    """Let a request pass that comes from this machine and names this server.

    Raises:
        RefusedError: It comes from elsewhere, or by a name that another site may have given this machine.
    """
    peer = environ.get("REMOTE_ADDR", "")
    try:
        is_near = ipaddress.ip_address(peer).is_loopback
    except ValueError:
        is_near = False
    if not is_near:
        raise RefusedError(HTTPStatus.FORBIDDEN, "edits are taken from this machine alone")
    if environ.get("HTTP_HOST", "") not in list_hosts(port):
        raise RefusedError(HTTPStatus.FORBIDDEN, "edits are taken under the name of this machine alone")


def check(environ: dict[str, Any], port: int, token: str) -> None:
    """Let a request pass that a page of this server made.

    Raises:
        RefusedError: It may have been made by a page of another site.
    """
    check_host(environ, port)
    origin = environ.get("HTTP_ORIGIN")
    if origin is not None and origin != f"http://{environ['HTTP_HOST']}":
        raise RefusedError(HTTPStatus.FORBIDDEN, "this origin may not edit")
    if environ.get("HTTP_SEC_FETCH_SITE", "same-origin") != "same-origin":
        raise RefusedError(HTTPStatus.FORBIDDEN, "another site may not edit")
    sent = environ.get("HTTP_X_EDIT_TOKEN", "")
    if not hmac.compare_digest(sent.encode("utf-8", "replace"), token.encode()):
        raise RefusedError(HTTPStatus.FORBIDDEN, "the token is not this server's: load the page again")
    if environ.get("CONTENT_TYPE", "").partition(";")[0].strip() != "application/json":
        raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "an edit is JSON")


def list_hosts(port: int) -> set[str]:
    """Return what a browser on this machine may call a server at a port."""
    return {f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"}


def read_body(environ: dict[str, Any], names: tuple[str, ...]) -> dict[str, str]:
    """Return the fields of a request, all of them text.

    Raises:
        RefusedError: It is too long, or lacks one.
    """
    try:
        length = int(environ.get("CONTENT_LENGTH") or 0)
    except ValueError:
        length = -1
    if not 0 <= length <= LONGEST:
        # Who is still sending hears the answer only if what was sent is read.
        left = min(length, DROPPED)
        while left > 0 and (part := environ["wsgi.input"].read(min(left, 1 << 16))):
            left -= len(part)
        raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"an edit has at most {LONGEST:,} bytes")
    try:
        body = json.loads(environ["wsgi.input"].read(length))
    except (ValueError, RecursionError) as error:
        raise RefusedError(HTTPStatus.BAD_REQUEST, "this is no JSON") from error
    fields = {name: body.get(name) if isinstance(body, dict) else None for name in names}
    if not all(isinstance(value, str) for value in fields.values()):
        raise RefusedError(HTTPStatus.BAD_REQUEST, f"an edit says {', '.join(names)}, each as text")
    return {name: str(value) for name, value in fields.items()}
