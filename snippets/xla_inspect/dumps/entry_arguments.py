"""The shapes of a module's arguments, as the first line of its text has them."""

from __future__ import annotations

import re

_LAYOUT = re.compile(r"entry_computation_layout=\{\(")
_PLAIN = re.compile(r"/\*.*?\*/|\{[^{}]*\}")
_OPEN, _SHUT = "([{", ")]}"


def list_arguments(header: str) -> tuple[str, ...]:
    """Return the shapes of a module's arguments without layouts, none where the line does not say them.

    Args:
        header: The first line of a module's text, which may be cut off.
    """
    start = _LAYOUT.search(header)
    if start is None:
        return ()
    depth, begin, found = 0, start.end(), []
    for at in range(start.end(), len(header)):
        character = header[at]
        if depth == 0 and character in ",)":
            found.append(header[begin:at])
            begin = at + 1
            if character == ")":
                return tuple(_PLAIN.sub("", each).strip() for each in found if each.strip())
        depth += (character in _OPEN) - (character in _SHUT)
    return ()
