"""A comparison of the lists of passes that two JAX releases run, which recognizes renamed passes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ALIKE = 0.8
"""The similarity from which two pass names at the same place count as a renamed pass."""


@dataclass(frozen=True, slots=True)
class PassDrift:
    """The difference between the lists of passes that two JAX releases run.

    Attributes:
        renamed: Pairs of the old and the new name of a pass.
        added: Passes that only the newer release runs, in the order of their first run.
        gone: Passes that only the older release runs.
    """

    renamed: tuple[tuple[str, str], ...]
    added: tuple[str, ...]
    gone: tuple[str, ...]

    @property
    def total(self) -> int:
        """The number of passes that were renamed, added or dropped."""
        return len(self.renamed) + len(self.added) + len(self.gone)


@dataclass(frozen=True, slots=True)
class SetChange:
    """The names that only the newer (`added`) or only the older (`gone`) of two lists has."""

    added: tuple[str, ...]
    gone: tuple[str, ...]


def compare_names(old: Mapping[str, object] | Sequence[str], new: Mapping[str, object] | Sequence[str]) -> SetChange:
    """Return the added and the removed names, each in the order of its list."""
    return SetChange(tuple(name for name in new if name not in old), tuple(name for name in old if name not in new))


def compare_passes(old: Sequence[str], new: Sequence[str]) -> PassDrift:
    """Return the difference between two lists of passes, each in the order of the first run.

    Two different names count as one renamed pass if they differ only in `-`, `_` and capitals; or if they are similar
    and follow or precede the same pass.
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
    matched: set[str] = set()
    for name in went:
        # Each new name can replace only one old name.
        rated = [(_rate(name, other), other) for other in came if other not in matched]
        near = [
            (rate, other)
            for rate, other in rated
            # A similar name alone proves nothing, because many passes have similar names.
            if rate == 1 or (rate >= ALIKE and places_old[name] & places_new[other])
        ]
        if near:
            _, best = max(near)
            matched.add(best)
            yield name, best


def _find_places(names: Sequence[str], others: Sequence[str]) -> dict[str, set[tuple[str, str]]]:
    """Return, for each name, two pairs: `after` and `before`, each with its nearest neighbor that is in both lists."""
    shared, places = set(others), {}
    for position, name in enumerate(names):
        before = next((other for other in reversed(names[:position]) if other in shared), "")
        after = next((other for other in names[position + 1 :] if other in shared), "")
        places[name] = {("after", before), ("before", after)}
    return places


def _rate(one: str, other: str) -> float:
    """Return the similarity of two names from 0 to 1, ignoring the separators between words."""
    first, second = (re.sub(r"[-_ ]", "", name).lower() for name in (one, other))
    # The heuristic for frequent elements would ignore common letters of a very long name.
    return SequenceMatcher(None, first, second, autojunk=False).ratio()
