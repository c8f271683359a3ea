"""Messages between processes, through pipes that others may write to as well: what is no message is passed over."""

from __future__ import annotations

import json
import os
import re
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST = 1 << 29
"""Bytes that a message may have."""

_PART = 1 << 16


class Sender:
    """Sends messages into a pipe.

    Args:
        descriptor: The pipe.
        mark: What the receiver knows each message by.
    """

    def __init__(self, descriptor: int, mark: str) -> None:
        """Send nothing yet."""
        self._descriptor, self._mark = descriptor, mark
        # What user code puts in their places is not used.
        self._write, self._dump, self._lock = os.write, json.JSONEncoder().encode, threading.Lock()

    def send(self, message: dict[str, Any]) -> None:
        """Send a message that JSON can hold.

        Raises:
            OSError: Nobody receives it.
        """
        content = self._dump(message).encode("ascii")
        with self._lock:
            left = memoryview(b"\n@%s %d\n%s" % (self._mark.encode(), len(content), content))
            while left:
                left = left[self._write(self._descriptor, left) :]


class Receiver:
    """Takes the messages out of what comes through a pipe.

    Args:
        mark: What the sender marks them with.
    """

    def __init__(self, mark: str) -> None:
        """Have received nothing yet."""
        self._head = re.compile(rb"\n@" + re.escape(mark.encode()) + rb" (\d{1,10})\n")
        self._longest = len(mark) + 16
        self._held = bytearray()
        self._wanted = 0

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """Take what came, and yield the messages that are whole with it."""
        self._held += data
        while True:
            if not self._wanted:
                found = self._head.search(self._held)
                if found is None:
                    # Of what is no message, only what may be the beginning of one is kept.
                    del self._held[: max(len(self._held) - self._longest, 0)]
                    return
                size = int(found[1])
                del self._held[: found.end()]
                if size > MOST:
                    continue
                self._wanted = size
            if len(self._held) < self._wanted:
                return
            content = bytes(self._held[: self._wanted])
            del self._held[: self._wanted]
            self._wanted = 0
            try:
                message = json.loads(content)
            except (ValueError, RecursionError):
                continue
            if isinstance(message, dict):
                yield message


def read_messages(descriptor: int, mark: str) -> Iterator[dict[str, Any]]:
    """Yield the messages of a pipe, waiting for each, until all who write to it have closed it."""
    receiver = Receiver(mark)
    while data := os.read(descriptor, _PART):
        yield from receiver.feed(data)
