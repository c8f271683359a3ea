"""Collect what the compilers log, which they write past Python to the process's standard error."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

STREAM = threading.Lock()
"""Held while the process's standard error leads elsewhere."""


@contextmanager
def collect_log() -> Iterator[list[str]]:
    """Collect the lines that reach the standard error meanwhile, from whichever thread; the list is filled at the end.

    A capture that the cache has is not compiled, and says nothing.
    """
    lines: list[str] = []
    with STREAM, tempfile.TemporaryFile() as file:
        sys.stderr.flush()
        original = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield lines
        finally:
            sys.stderr.flush()
            os.dup2(original, 2)
            os.close(original)
            file.seek(0)
            lines += file.read().decode(errors="replace").splitlines()
