"""Which passes run under one release and not under another, and which of them only have other names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ALIKE = 0.8
"""From which likeness on two names of passes that stand at the same place are taken for one name and a new one."""


@dataclass(frozen=True, slots=True)
class PassDrift:
    """How the passes that run differ.

    Attributes:
        renamed: Pairs of the old and the new name of what is taken for one pass.
        added: Passes that only the newer release runs, in the order of their first run.
        gone: Passes that only the older runs.
    """

    renamed: tuple[tuple[str, str], ...]
    added: tuple[str, ...]
    gone: tuple[str, ...]

    @property
    def total(self) -> int:
        """How many passes were renamed, added or dropped."""
        return len(self.renamed) + len(self.added) + len(self.gone)


@dataclass(frozen=True, slots=True)
class SetChange:
    """Names that came and went."""

    added: tuple[str, ...]
    gone: tuple[str, ...]


def compare_names(old: Mapping[str, object] | Sequence[str], new: Mapping[str, object] | Sequence[str]) -> SetChange:
    """The names that came and those that went, each in their own order."""
    return SetChange(tuple(name for name in new if name not in old), tuple(name for name in old if name not in new))


def compare_passes(old: Sequence[str], new: Sequence[str]) -> PassDrift:
    """How two lists of passes differ, each in the order of its first run.

    Two names are taken for one pass where they differ in `-`, `_` and capitals alone; or where they are much alike
    and stand after the same pass, or before the same.
    """
    came, went = compare_names(old, new).added, compare_names(old, new).gone
    pairs = dict(_find_renamed(old, new, went, came))
    return PassDrift(
        tuple(pairs.items()),
        tuple(name for name in came if name not in pairs.values()),
        tuple(name for name in went if name not in pairs),
    )


def _find_renamed(
    old: Sequence[str], new: Sequence[str], went: Sequence[str], came: Sequence[str]
) -> Iterator[tuple[str, str]]:
    places_old, places_new = _find_places(old, new), _find_places(new, old)
    taken: set[str] = set()
    for name in went:
        rated = [(_rate(name, other), other) for other in came if other not in taken]
        near = [
            (rate, other)
            for rate, other in rated
            if rate == 1 or (rate >= ALIKE and places_old[name] & places_new[other])
        ]
        if near:
            _, best = max(near)
            taken.add(best)
            yield name, best


def _find_places(names: Sequence[str], others: Sequence[str]) -> dict[str, set[tuple[str, str]]]:
    """For each name, the nearest names before and after it that the other list has too."""
    shared, places = set(others), {}
    for position, name in enumerate(names):
        before = next((other for other in reversed(names[:position]) if other in shared), "")
        after = next((other for other in names[position + 1 :] if other in shared), "")
        places[name] = {("after", before), ("before", after)}
    return places


def _rate(one: str, other: str) -> float:
    """How alike two names are, from 0 to 1, whatever joins their words."""
    first, second = (re.sub(r"[-_ ]", "", name).lower() for name in (one, other))
    return SequenceMatcher(None, first, second, autojunk=False).ratio()
