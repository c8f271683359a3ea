"""The helpers that the Python scripts share, like `common.sh` for shell scripts; needs only the standard library."""

from __future__ import annotations

import atexit
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

ROOT = Path(__file__).resolve().parents[2]
"""The project's folder."""

# Scripts import this module when they start, so this is the start of the script.
_START = time.monotonic()


def say(text: str, *, aside: bool = False) -> None:
    """Print a line immediately, after the seconds since the start; with `aside`, print it to standard error."""
    print(f"[{time.monotonic() - _START:4.0f} s] {text}", file=sys.stderr if aside else sys.stdout, flush=True)


def _is_output_closed(end: str = "") -> bool:
    """Return whether the reader of the output, such as `head`, has ended; if so, discard all further output.

    Args:
        end: Text to write. A second attempt needs new text, because Python does not write failed output again.
    """
    try:
        print(end=end, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return True
    return False


def _report_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print the traceback of an error that ends the program, unless the reader of the output has ended."""
    if not (isinstance(error, BrokenPipeError) and _is_output_closed("\n")):
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _report_error
atexit.register(_is_output_closed)  # otherwise Python reports an error if it cannot write the rest of the output
