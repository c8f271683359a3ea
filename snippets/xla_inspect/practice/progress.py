"""A progress line on the standard error, which keeps piped output clean."""

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
    """Print a progress message; a terminal that can erase a line removes it at the end of the block.

    Args:
        what: The current activity, such as `starting JAX`.
        stream: The output, by default the standard error.
    """
    line = _StatusLine(stream)
    line.say(what)
    try:
        yield
    finally:
        line.finish()


@contextmanager
def compiling(stream: TextIO | None = None) -> Iterator[None]:
    """Print a progress message for each program that is compiled in the block; cached programs get none."""
    handler = _StatusLine(stream)
    level = _LOGGER.level
    _LOGGER.addHandler(handler)
    # Progress is logged at the level INFO, which the logger drops by default.
    _LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        _LOGGER.removeHandler(handler)
        _LOGGER.setLevel(level)
        handler.finish()


class _StatusLine(logging.Handler):
    """A logging handler that shows the last message on one line of a terminal, or each on its own line elsewhere."""

    def __init__(self, stream: TextIO | None) -> None:
        super().__init__(logging.INFO)
        self._stream = sys.stderr if stream is None else stream
        self._open = False

    def emit(self, record: logging.LogRecord) -> None:
        """Show a message."""
        # Warnings are more than progress and must not be erased with the status line.
        if record.levelno <= logging.INFO:
            self.say(record.getMessage())

    def say(self, text: str) -> None:
        """Replace the displayed text with another."""
        self._open = takes_escapes(self._stream)
        self._stream.write(f"\r\x1b[K{text} ..." if self._open else f"{text} ...\n")
        self._stream.flush()

    def finish(self) -> None:
        """Erase the line."""
        if self._open:
            # The escape sequence erases the line from the cursor to its end.
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._open = False
