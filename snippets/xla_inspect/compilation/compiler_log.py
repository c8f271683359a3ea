"""A collector of the compilers' log, which bypasses Python and goes to the process's standard error."""

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
"""The lock that is held while the process's standard error is redirected."""


@contextmanager
def collect_log() -> Iterator[list[str]]:
    """Collect the lines that any thread writes to standard error in the `with` block, and fill the list at its end.

    The lines do not reach the original standard error. A capture from the cache logs nothing, as nothing is compiled.
    """
    lines: list[str] = []
    with STREAM, tempfile.TemporaryFile() as file:
        # Text that Python has buffered until now must not end up in the collected log.
        sys.stderr.flush()
        # The compilers write to the descriptor and not to `sys.stderr`, so the descriptor itself is redirected.
        original = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield lines
        finally:
            # Text that Python buffered within the block belongs to the log.
            sys.stderr.flush()
            os.dup2(original, 2)
            os.close(original)
            file.seek(0)
            lines += file.read().decode(errors="replace").splitlines()
