"""Suggestions for names, files and subjects that a reader misspelt."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LIKENESS = 0.6
_CALLED = re.compile(r"\(.*\)$")
_SEPARATOR = re.compile(r"(?<=\.py)(?:::|[./#])(?=[^\W\d])")


def list_nearest(name: str, known: Iterable[str], most: int = 1, likeness: float = _LIKENESS) -> list[str]:
    """Return the known names closest to another, the closest first. Case, `-` and `_` do not matter."""
    folded: dict[str, str] = {}
    for each in known:
        folded.setdefault(_fold(each), each)
    return [folded[near] for near in difflib.get_close_matches(_fold(name), folded, most, likeness)]


def suggest_name(name: str, known: Iterable[str], lead: str = "there are") -> str:
    """Return `did you mean 'NAME'?`, or the words of `lead` and all known names where none is close."""
    known = [*known]
    if near := list_nearest(name, known):
        return f"did you mean {near[0]!r}?"
    return f"{lead} {', '.join(known) or 'none'}"


def suggest_file(path: Path) -> str:
    """Return `; did you mean NAME?` for a file that does not exist, or what is wrong with its folder."""
    if not path.parent.is_dir():
        return f"; there is no folder {path.parent}"
    near = list_nearest(path.name, sorted(each.name for each in path.parent.iterdir()))
    return f"; did you mean {path.parent / near[0]}?" if near else ""


def respell_subject(named: str) -> str:
    """Return a subject such as `model.py::step`, `model.py:step()` or `model.step` as one writes it."""
    spelt = _SEPARATOR.sub(":", _CALLED.sub("", named))
    place, dot, function = spelt.rpartition(".")
    if ":" in spelt or not dot or not function.isidentifier() or function == "py":
        return spelt
    return f"{place}.py:{function}" if Path(f"{place}.py").is_file() else f"{place}:{function}"


def _fold(name: str) -> str:
    return name.lower().replace("_", "-")
