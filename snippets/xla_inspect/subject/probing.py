"""A trial compile in a separate process, for compiles that may crash the compiler's process."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from xla_inspect import jax_private, targets
from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.compilation import LoggedProcess, Program

_CHECK = re.compile(r"^F\d{4} .*?\] (?P<said>.*)$", re.MULTILINE)


def probe(program: Program, target: str, options: Mapping[str, str | int | bool]) -> None:
    """Compile a program in a separate process, and raise if that process crashes; other compile errors are ignored.

    Args:
        program: The program.
        target: A short name.
        options: XLA's options by name.

    Raises:
        InspectError: The compiler crashed; the message ends with its last line of log.
        TargetUnavailableError: This machine cannot compile for the target.
    """
    # The import is late because a script may configure JAX before JAX is imported.
    from xla_inspect.compilation import lower

    resolved = targets.find_target(target)
    call = jax_private.describe_compile(lower(program, resolved).place(resolved), options)
    try:
        _process().compile(call, resolved.name)
    except InspectError as error:
        match = _CHECK.search(str(error))
        message = f"the compiler ended its process{f': {match["said"]}' if match else ''}"
        raise InspectError(message) from error


@cache
def _process() -> LoggedProcess:
    from xla_inspect.compilation import LoggedProcess

    # One process serves all probes, because a process takes long to import JAX.
    return LoggedProcess({})
