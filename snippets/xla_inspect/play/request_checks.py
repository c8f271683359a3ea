"""The validation of requests: each must come from this server's page on this machine and have the right form."""

from __future__ import annotations

import hmac
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from email.message import Message

BODY = 1 << 20
"""The maximum number of bytes in a request's body."""

TARGETS = 16
"""The maximum number of targets of an edit."""

_OPTIONS = {"donate": list, "static": list, "grad": bool, "vmap": int, "mesh": str, "flags": dict}


class RefusedError(Exception):
    """An error for a request that the server refuses."""

    def __init__(self, status: int, message: str) -> None:
        """Store the status and the message."""
        super().__init__(message)
        self.status = status


def check_sender(headers: Message, port: int, token: str, *, is_page: bool) -> None:
    """Raise an error unless a request comes from the page that this server delivered.

    Args:
        headers: The request's headers.
        port: The port of the server.
        token: The secret that the page sends with its requests.
        is_page: Whether the request is for the page itself or one of its files, which need no token.

    Raises:
        RefusedError: The request uses another host name, comes from a page of another origin, or lacks the token.
    """
    hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
    # A host name of an attacker may point to this address, so only the names of the loopback address are accepted.
    if headers.get_all("Host", []) not in [[host] for host in hosts]:
        raise RefusedError(403, f"this server answers to http://127.0.0.1:{port} alone")
    if any(origin not in {f"http://{host}" for host in hosts} for origin in headers.get_all("Origin", [])):
        raise RefusedError(403, "a page of another origin may ask nothing of this server")
    # A link on another local page may open the playground: its window's content stays unreadable for that page.
    is_opened = is_page and (headers.get("Sec-Fetch-Mode"), headers.get("Sec-Fetch-Dest")) == ("navigate", "document")
    if headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin", *(["same-site"] * is_opened)}:
        raise RefusedError(403, "a page of another site may ask nothing of this server")
    # The comparison takes constant time, so response times do not reveal the token.
    tokens = headers.get_all("X-Play-Token", [])
    if not is_page and not (
        len(tokens) == 1 and hmac.compare_digest(tokens[0].encode("utf-8", "replace"), token.encode())
    ):
        raise RefusedError(403, "the token is missing or not this server's; load the page again")


def find_length(headers: Message) -> int:
    """Return the length of a request's body in bytes.

    Raises:
        RefusedError: The request does not state its length, or the body is too long.
    """
    lengths = headers.get_all("Content-Length", [])
    if "Transfer-Encoding" in headers or len(lengths) != 1 or not (lengths[0].isascii() and lengths[0].isdigit()):
        raise RefusedError(411, "say how long the body is, once, by Content-Length")
    # The number of digits is compared first, because converting a very long number would take long or fail.
    if len(lengths[0]) > len(str(BODY)) or int(lengths[0]) > BODY:
        raise RefusedError(413, f"a request has {BODY:,} bytes at most")
    return int(lengths[0])


def read_body(content: bytes) -> dict[str, Any]:
    """Return the JSON object in a request's body.

    Raises:
        RefusedError: The body is not a JSON object.
    """
    try:
        body = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, f"the body is no JSON: {type(error).__name__}") from None
    if not isinstance(body, dict):
        raise RefusedError(400, "the body is no object of JSON")
    return body


def take_text(body: dict[str, Any], name: str, default: str | None = None) -> str:
    """Return a string from a request's body.

    Raises:
        RefusedError: The value is missing and there is no default, or it is not a string.
    """
    value = body.get(name, default)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise RefusedError(400, f"{name} has to be a text")
    return value


def read_edit(body: dict[str, Any], available: set[str]) -> dict[str, Any]:
    """Return the validated content of an edit, with defaults for missing values.

    Args:
        body: The JSON object that the page sent.
        available: The names of the available targets.

    Raises:
        RefusedError: A value has the wrong form.
    """
    targets = body.get("targets", [])
    if (
        not isinstance(targets, list)
        or not all(isinstance(target, str) for target in targets)
        or len(targets) > TARGETS
    ):
        raise RefusedError(400, f"targets has to be a list of at most {TARGETS} names")
    if unknown := [
        target
        for target in targets
        if target.partition(":")[0] not in available or len(target) > len("tpu-v5p:16x16x16")
    ]:
        raise RefusedError(400, f"there is no target {unknown[0][:40]!r}; there are {', '.join(sorted(available))}")
    identity, client = (take_text(body, name, "")[:200] for name in ("id", "client"))
    return {
        "id": identity,
        "client": client,
        "code": take_text(body, "code"),
        "function": take_text(body, "function", ""),
        "arguments": take_text(body, "arguments", ""),
        "targets": list(dict.fromkeys(targets)),
        "options": _read_options(body.get("options")),
    }


def _read_options(content: object) -> dict[str, Any]:
    options = {} if content is None else content
    if not isinstance(options, dict):
        raise RefusedError(400, "options has to be an object")
    checked: dict[str, Any] = {}
    for name, kind in _OPTIONS.items():
        value = options.get(name)
        # An option that is switched off is left out, so that equal requests have equal options.
        if value is None or value is False:
            continue
        # The page sends `true` for the default size, and Python counts booleans as integers.
        if kind is int and isinstance(value, bool):
            value = 8
        if not isinstance(value, kind):
            raise RefusedError(400, f"options: {name} is of another form")
        checked[name] = value
    lists = (*checked.get("donate", ()), *checked.get("static", ()))
    if not all(isinstance(element, str | int) for element in lists):
        raise RefusedError(400, "options: donate and static hold names or numbers")
    if not all(isinstance(value, str | int | float | bool) for value in checked.get("flags", {}).values()):
        raise RefusedError(400, "options: the value of a flag is a text or a number")
    return checked
