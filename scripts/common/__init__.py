"""The helpers that the Python scripts share, like `common.sh` for shell scripts; needs only the standard library."""

from __future__ import annotations

import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The project's folder."""

# Scripts import this module when they start, so this is the start of the script.
_START = time.monotonic()


def say(text: str, *, aside: bool = False) -> None:
    """Print a line immediately, after the seconds since the start; with `aside`, print it to standard error."""
    print(f"[{time.monotonic() - _START:4.0f} s] {text}", file=sys.stderr if aside else sys.stdout, flush=True)
