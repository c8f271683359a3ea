"""Which releases are measured to find where an answer changed: both ends, and then the middle of what is left."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from xla_inspect.releases.release_measure import Question, ReleaseMeasure


@dataclass(frozen=True)
class Boundary:
    """Where the answer to a question changes.

    Attributes:
        question: The question.
        before: The last release that answers as the oldest does.
        after: The first that does not.
        between: Releases between the two that could not be measured.
    """

    question: Question
    before: ReleaseMeasure
    after: ReleaseMeasure
    between: tuple[ReleaseMeasure, ...] = ()


class ReleaseSearch:
    """Measures releases as they are needed, each once.

    Args:
        versions: The releases, the oldest first.
        measure: What measures one.
    """

    def __init__(self, versions: Sequence[str], measure: Callable[[str], ReleaseMeasure]) -> None:
        """Measure nothing yet."""
        self._versions = list(versions)
        self._measure = measure
        self._known: dict[str, ReleaseMeasure] = {}

    @property
    def measures(self) -> tuple[ReleaseMeasure, ...]:
        """What was measured so far, the oldest release first."""
        return tuple(self._known[version] for version in self._versions if version in self._known)

    def measure_all(self) -> None:
        """Measure each release."""
        for version in self._versions:
            self._find(version)

    def find_ends(self, question: Question | None = None) -> tuple[ReleaseMeasure, ReleaseMeasure] | None:
        """Return the oldest and the newest release that answer a question, or can be measured at all.

        Returns None where there are not two.
        """
        oldest = self._find_first(self._versions, question)
        newest = self._find_first(reversed(self._versions), question) if oldest else None
        if oldest is None or newest is None or oldest.version == newest.version:
            return None
        return oldest, newest

    def find_boundary(self, question: Question) -> Boundary | None:
        """Return where the answer to a question changes most, or None where the ends answer alike.

        An answer belongs to the end that it is nearer to. So a small change before the large one does not hide it.
        """
        ends = self.find_ends(question)
        if ends is None or not question.differs(*ends):
            return None
        low, high = (self._versions.index(each.version) for each in ends)
        unknown: set[str] = set()
        while candidates := [at for at in range(low + 1, high) if self._versions[at] not in unknown]:
            at = candidates[len(candidates) // 2]
            nearer = question.is_nearer(self._find(self._versions[at]), *ends)
            if nearer is None:
                unknown.add(self._versions[at])
            elif nearer:
                low = at
            else:
                high = at
        between = tuple(self._known[self._versions[at]] for at in range(low + 1, high))
        return Boundary(question, self._known[self._versions[low]], self._known[self._versions[high]], between)

    def list_boundaries(self, question: Question) -> list[Boundary]:
        """Return each place where two releases that were measured, and follow each other so, answer otherwise."""
        able = [found for found in self.measures if question.name in found.values]
        boundaries = []
        for before, after in itertools.pairwise(able):
            if question.differs(before, after):
                low, high = self._versions.index(before.version), self._versions.index(after.version)
                between = tuple(self._known[each] for each in self._versions[low + 1 : high] if each in self._known)
                boundaries.append(Boundary(question, before, after, between))
        return boundaries

    def _find(self, version: str) -> ReleaseMeasure:
        if version not in self._known:
            self._known[version] = self._measure(version)
        return self._known[version]

    def _find_first(self, versions: Iterable[str], question: Question | None) -> ReleaseMeasure | None:
        for version in versions:
            found = self._find(version)
            if not found.failed and (question is None or question.name in found.values):
                return found
        return None
