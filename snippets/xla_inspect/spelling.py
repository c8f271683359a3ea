"""Suggestions for misspelled names, files and subjects."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

FEW = 12
"""The number of functions that a message lists."""

_LIKENESS = 0.6
_CALLED = re.compile(r"\(.*\)$")
_SEPARATOR = re.compile(r"(?<=\.py)(?:::|[./#])(?=[^\W\d])")


def list_nearest(name: str, names: Iterable[str], most: int = 1, likeness: float = _LIKENESS) -> list[str]:
    """Return at most `most` of the names that are similar to a name, the nearest first, ignoring case, `-` and `_`.

    Args:
        name: The misspelled name.
        names: The known names.
        most: The largest number of results.
        likeness: The least similarity of a result, from 0 to 1.
    """
    # Only errors need this module, and all commands import this one.
    import difflib

    # The match ignores case and dashes, but the suggestion must have the spelling that works.
    folded: dict[str, str] = {}
    for candidate in names:
        folded.setdefault(_fold(candidate), candidate)
    return [folded[near] for near in difflib.get_close_matches(_fold(name), folded, most, likeness)]


def suggest_name(name: str, names: Iterable[str], lead: str = "there are", most: int | None = None) -> str:
    """Return `did you mean 'NAME'?`; if no name is near, return `lead` with at most `most` of the known names."""
    names = [*names]
    if near := list_nearest(name, names):
        return f"did you mean {near[0]!r}?"
    more = f" and {len(names[most:])} more" if most and names[most:] else ""
    return f"{lead} {', '.join(names[:most]) or 'none'}{more}"


def suggest_file(path: Path) -> str:
    """Return `; did you mean NAME?` for a missing file, a message if its folder is missing, or an empty string."""
    if not path.parent.is_dir():
        return f"; there is no folder {path.parent}"
    near = list_nearest(path.name, sorted(entry.name for entry in path.parent.iterdir()))
    return f"; did you mean {path.parent / near[0]}?" if near else ""


def respell_subject(text: str) -> str:
    """Return a subject such as `model.py::step`, `model.py:step()` or `model.step` in the form `model.py:step`."""
    subject = _SEPARATOR.sub(":", _CALLED.sub("", text))
    place, dot, function = subject.rpartition(".")
    # The dot of `model.py` separates an extension, not a function.
    if ":" in subject or not dot or not function.isidentifier() or function == "py":
        return subject
    return f"{place}.py:{function}" if Path(f"{place}.py").is_file() else f"{place}:{function}"


def _fold(name: str) -> str:
    return name.lower().replace("_", "-")
