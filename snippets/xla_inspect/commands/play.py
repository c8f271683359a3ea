"""`xla-inspect play`: a page on this machine on which code is edited, and what XLA makes of it seen."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TextIO

from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    import argparse

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])i?B?", re.IGNORECASE)
_LEAST = 256 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what is edited, where the page is, and what an edit may take."""
    parser.add_argument("file", nargs="?", default="", metavar="FILE.py:FUNCTION", help="what to begin with")
    where = parser.add_argument_group("the page")
    where.add_argument("--port", type=int, metavar="N", help="where it listens; 0 for any port that is free")
    where.add_argument("--no-browser", action="store_true", help="do not open it in the browser")
    limits = parser.add_argument_group("what an edit may take")
    limits.add_argument("--limit-code", type=float, default=10, metavar="S", help="seconds for the code (default: 10)")
    limits.add_argument("--limit-compile", type=float, default=60, metavar="S", help="seconds for a compile (60)")
    limits.add_argument("--limit-memory", default="", metavar="SIZE", help="memory of each process, such as 4G")


def run_command(options: argparse.Namespace, out: TextIO) -> int:
    """Serve the page until it is interrupted, and return the exit status.

    Raises:
        InspectError: There is no such file or function, no port is free, or a limit is none.
    """
    from xla_inspect.play import Limits, choose_memory, serve

    for name in ("code", "compile"):
        if not 0 < getattr(options, f"limit_{name}") < float("inf"):
            message = f"--limit-{name}: say seconds above 0"
            raise InspectError(message)
    memory = read_size(options.limit_memory) if options.limit_memory else choose_memory()
    limits = Limits(options.limit_code, options.limit_compile, memory)
    return serve(options.file, limits, options.port, out, is_opened=not options.no_browser)


def read_size(text: str) -> int:
    """Return the bytes that a size such as `4G` is.

    Raises:
        InspectError: It is of another form, or too small for any program.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        message = f"--limit-memory {text}: say it with its unit, as in --limit-memory 4G"
        raise InspectError(message)
    size = int(float(match[1]) * 1024 ** (" KMGT".index(match[2].upper())))
    if size < _LEAST:
        message = f"--limit-memory {text}: JAX alone takes more; the least is 256M"
        raise InspectError(message)
    return size
