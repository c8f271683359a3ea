"""The command `xla-inspect play`, which serves a local page to edit code and see the compiled program."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TextIO

from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    import argparse

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])i?B?", re.IGNORECASE)
_LEAST = 256 << 20


def run_command(options: argparse.Namespace, out: TextIO) -> int:
    """Serve the page until it is interrupted, and return the exit status.

    Raises:
        InspectError: The file or function does not exist, the port is in use, or a limit is invalid.
    """
    # The help of this command must not wait for the imports of the server.
    from xla_inspect.play import Limits, choose_memory, serve

    for name in ("code", "compile"):
        if not 0 < getattr(options, f"limit_{name}") < float("inf"):
            message = f"--limit-{name}: pass a number of seconds above 0"
            raise InspectError(message)
    # Without an option, the limit depends on the memory of this machine.
    memory = read_size(options.limit_memory) if options.limit_memory else choose_memory()
    limits = Limits(options.limit_code, options.limit_compile, memory)
    return serve(options.file, limits, options.port, out, is_opened=not options.no_browser)


def read_size(text: str) -> int:
    """Return the bytes of a size such as `4G`.

    Raises:
        InspectError: The size has another form, or is below 256 MiB.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        message = f"--limit-memory {text}: pass a size with a unit, as in --limit-memory 4G"
        raise InspectError(message)
    # The position of the unit in this string is the power of 1024, so the space has the place of bytes.
    size = int(float(match[1]) * 1024 ** (" KMGT".index(match[2].upper())))
    if size < _LEAST:
        message = f"--limit-memory {text}: JAX alone needs more; the minimum is 256M"
        raise InspectError(message)
    return size
