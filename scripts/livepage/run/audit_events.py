"""Hear of what this process opens, writes and starts, through Python's audit events."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

type Listener = Callable[[str, tuple[Any, ...]], None]

_inside = threading.local()
_listeners: dict[str, list[Listener]] = {}


def listen(listener: Listener, events: tuple[str, ...]) -> None:
    """Let a function hear of events, from now on: an audit hook cannot be removed."""
    if not _listeners:
        sys.addaudithook(_hear)
    for event in events:
        _listeners.setdefault(event, []).append(listener)


def _hear(event: str, details: tuple[Any, ...]) -> None:
    if event not in _listeners or getattr(_inside, "a_listener", False):
        return  # what a listener itself does is no news
    _inside.a_listener = True
    try:
        for listener in _listeners[event]:
            listener(event, details)
    finally:
        _inside.a_listener = False
