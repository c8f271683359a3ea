"""Keep what was found out about pages, without the pages."""

from __future__ import annotations

import hashlib
from functools import wraps
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MOST = 100
"""How many answers a function keeps."""


def remember[**P, T](function: Callable[P, T]) -> Callable[P, T]:
    """Let a function keep its last answers by a digest of what it was asked, since pages are long and edited often."""
    known: dict[bytes, T] = {}

    @wraps(function)
    def answer(*arguments: P.args, **named: P.kwargs) -> T:
        key = hashlib.sha256(repr((arguments, named)).encode()).digest()
        result = known[key] = known.pop(key) if key in known else function(*arguments, **named)
        if len(known) > MOST:
            del known[next(iter(known))]
        return result

    return answer
