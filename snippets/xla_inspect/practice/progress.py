"""A line that says what takes time, on the standard error, so that what is piped stays clean."""

from __future__ import annotations

import logging
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from xla_inspect.terminal import takes_escapes

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOGGER = logging.getLogger("xla_inspect")


@contextmanager
def doing(what: str, stream: TextIO | None = None) -> Iterator[None]:
    """Say what is being done; in a terminal that can take a line away it goes away when it is done.

    Args:
        what: As in `starting JAX`.
        stream: Where to, by default the standard error.
    """
    line = _StatusLine(stream)
    line.say(what)
    try:
        yield
    finally:
        line.finish()


@contextmanager
def compiling(stream: TextIO | None = None) -> Iterator[None]:
    """Say what is compiled meanwhile; what the cache has is not compiled, and not said."""
    handler = _StatusLine(stream)
    level = _LOGGER.level
    _LOGGER.addHandler(handler)
    _LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        _LOGGER.removeHandler(handler)
        _LOGGER.setLevel(level)
        handler.finish()


class _StatusLine(logging.Handler):
    """Shows the last message on one line of a terminal, and each on a line of its own elsewhere."""

    def __init__(self, stream: TextIO | None) -> None:
        super().__init__(logging.INFO)
        self._stream = sys.stderr if stream is None else stream
        self._open = False

    def emit(self, record: logging.LogRecord) -> None:
        """Show a message."""
        if record.levelno <= logging.INFO:
            self.say(record.getMessage())

    def say(self, text: str) -> None:
        """Show a text in the place of the last one."""
        self._open = takes_escapes(self._stream)
        self._stream.write(f"\r\x1b[K{text} ..." if self._open else f"{text} ...\n")
        self._stream.flush()

    def finish(self) -> None:
        """Take the line away."""
        if self._open:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._open = False
