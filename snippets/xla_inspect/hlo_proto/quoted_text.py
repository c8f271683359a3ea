"""The text of frontend attributes and backend configs (strings, bytes and JSON), quoted as XLA does."""

from __future__ import annotations

import json
import re
from typing import Any

from xla_inspect.hlo import quote

_BRACES = re.compile(r'"(?:[^"\\]++|\\.)*+"|[{}]', re.DOTALL)
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{}:,]|[^\s\[\]{}:,"]++', re.DOTALL)
_DEEPEST = 200


def write_json(text: str) -> str:
    """Return a text unchanged if it looks like a JSON object, otherwise as a quoted string (`LexesAsJsonDict`)."""
    return text if _is_object(text) else quote(text)


def write_config(data: bytes) -> str:
    """Return the text of a `backend_config`: a JSON object with sorted keys and without blanks, or else a string."""
    text = data.decode("utf-8", "surrogateescape")
    return write_json(_sort(text) if text.startswith("{") else text)


def _is_object(text: str) -> bool:
    if not text.startswith("{"):
        return False
    depth = 0
    # Strings match as a whole, so braces inside them do not count.
    for match in _BRACES.finditer(text):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if not depth:
            return match.end() == len(text)
    return False


def _sort(text: str) -> str:
    try:
        value = json.loads(text)
        # Only if JSON round-trips exactly is it safe to sort it as parsed data; otherwise numbers could change their
        # form.
        if json.dumps(value, ensure_ascii=False, separators=(",", ":")) == text:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        return _sort_tokens(_TOKEN.findall(text), 0, 0)[0]
    # Text that is not JSON, or that nests too deeply, is printed unchanged.
    except (ValueError, RecursionError, IndexError):
        return text


def _sort_tokens(tokens: list[str], at: int, depth: int) -> tuple[str, int]:
    """Return the sorted value that starts at a token, and the position after it; numbers stay as written."""
    if depth > _DEEPEST:
        raise RecursionError
    opening = tokens[at]
    if opening not in {"{", "["}:
        return opening, at + 1
    items: list[Any] = []
    at += 1
    while tokens[at] not in {"}", "]"}:
        if tokens[at] == ",":
            at += 1
        elif opening == "[":
            element, at = _sort_tokens(tokens, at, depth + 1)
            items.append(element)
        else:
            value, after = _sort_tokens(tokens, at + 2, depth + 1)
            items.append((tokens[at], value))
            at = after
    if opening == "[":
        return f"[{','.join(items)}]", at + 1
    return f"{{{','.join(f'{key}:{value}' for key, value in sorted(items))}}}", at + 1
