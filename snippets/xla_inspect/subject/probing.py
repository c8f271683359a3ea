"""A compile that may end the process of the compiler, tried in another process first."""

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
    """Do nothing where the compiler survives a compile, whatever else it says of it.

    Args:
        program: The program.
        target: A short name.
        options: XLA's options by name.

    Raises:
        InspectError: The compiler ended its process; with what it said last.
        TargetUnavailableError: This machine cannot compile for the target.
    """
    # Not before: a script says how JAX is to start, which is imported with this.
    from xla_inspect.compilation import lower

    found = targets.find_target(target)
    call = jax_private.describe_compile(lower(program, found).place(found), options)
    try:
        _process().compile(call, found.name)
    except InspectError as error:
        said = _CHECK.search(str(error))
        message = f"the compiler ended its process{f': {said["said"]}' if said else ''}"
        raise InspectError(message) from error


@cache
def _process() -> LoggedProcess:
    from xla_inspect.compilation import LoggedProcess

    return LoggedProcess({})
