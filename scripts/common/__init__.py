"""What the scripts of Python share, as those of the shell share `common.sh`; needs the standard library alone."""

from __future__ import annotations

import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The folder that holds the project."""

_START = time.monotonic()


def say(text: str, *, aside: bool = False) -> None:
    """Print a line at once, after the seconds since the start; aside goes to standard error."""
    print(f"[{time.monotonic() - _START:4.0f} s] {text}", file=sys.stderr if aside else sys.stdout, flush=True)
