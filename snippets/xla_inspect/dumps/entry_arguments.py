"""The shapes of a module's arguments, from the first line of its text."""

from __future__ import annotations

import re

_LAYOUT = re.compile(r"entry_computation_layout=\{\(")
_PLAIN = re.compile(r"/\*.*?\*/|\{[^{}]*\}")
_OPEN, _SHUT = "([{", ")]}"


def list_arguments(header: str) -> tuple[str, ...]:
    """Return the shapes of a module's arguments without layouts, or an empty tuple if the line lacks them.

    Args:
        header: The first line of a module's text, which may be truncated.
    """
    start = _LAYOUT.search(header)
    if start is None:
        return ()
    depth, begin, arguments = 0, start.end(), []
    for at in range(start.end(), len(header)):
        character = header[at]
        # Commas inside brackets separate dimensions or the elements of a tuple.
        if depth == 0 and character in ",)":
            arguments.append(header[begin:at])
            begin = at + 1
            if character == ")":
                return tuple(_PLAIN.sub("", argument).strip() for argument in arguments if argument.strip())
        depth += (character in _OPEN) - (character in _SHUT)
    # The line is truncated within the list, so the number of arguments is unknown.
    return ()
