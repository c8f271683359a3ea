"""A simulated terminal for the tests of the practice."""

from __future__ import annotations

import io


class Terminal(io.StringIO):
    """A text stream in memory that claims to be a terminal."""

    def isatty(self) -> bool:
        return True
