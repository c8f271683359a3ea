"""A bisection of JAX releases that finds the two between which the answer to a question about a program changed."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from xla_inspect.releases.release_measure import Question, ReleaseMeasure


@dataclass(frozen=True)
class Boundary:
    """A change in the answer to a question from one measured release to a later one.

    Attributes:
        question: The question.
        before: The older release.
        after: The newer one.
        between: Releases between the two that could not be measured.
    """

    question: Question
    before: ReleaseMeasure
    after: ReleaseMeasure
    between: tuple[ReleaseMeasure, ...] = ()


class ReleaseSearch:
    """A search for the releases at which answers change, which measures each release at most once, when needed.

    Args:
        versions: The releases, oldest first.
        measure: The function that measures one release.
    """

    def __init__(self, versions: Sequence[str], measure: Callable[[str], ReleaseMeasure]) -> None:
        """Store the releases without measuring."""
        self._versions = list(versions)
        self._measure = measure
        self._known: dict[str, ReleaseMeasure] = {}

    @property
    def measures(self) -> tuple[ReleaseMeasure, ...]:
        """The measurements so far, oldest release first."""
        return tuple(self._known[version] for version in self._versions if version in self._known)

    def measure_all(self) -> None:
        """Measure each release."""
        for version in self._versions:
            self._find(version)

    def find_ends(self, question: Question | None = None) -> tuple[ReleaseMeasure, ReleaseMeasure] | None:
        """Measure and return the oldest and the newest release that answer a question, or can be measured at all.

        The result is None if there are fewer than two.
        """
        oldest = self._find_first(self._versions, question)
        newest = self._find_first(reversed(self._versions), question) if oldest else None
        if oldest is None or newest is None or oldest.version == newest.version:
            return None
        return oldest, newest

    def find_boundary(self, question: Question) -> Boundary | None:
        """Return the boundary where the answer to a question changes, or None if both ends have the same or no answer.

        Each answer is assigned to the nearer end, so a small change before the large one does not hide it. An answer
        that is as far from both ends, such as a third hash, is assigned to the newer one.
        """
        ends = self.find_ends(question)
        if ends is None or not question.differs(*ends):
            return None
        low, high = (self._versions.index(end.version) for end in ends)
        unknown: set[str] = set()
        while candidates := [at for at in range(low + 1, high) if self._versions[at] not in unknown]:
            # The middle of the measurable releases halves the span even if some in it have failed.
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
        """Return each boundary between consecutive releases with different answers, without measuring more releases."""
        able = [measure for measure in self.measures if question.name in measure.values]
        boundaries = []
        for before, after in itertools.pairwise(able):
            if question.differs(before, after):
                low, high = self._versions.index(before.version), self._versions.index(after.version)
                between = tuple(self._known[name] for name in self._versions[low + 1 : high] if name in self._known)
                boundaries.append(Boundary(question, before, after, between))
        return boundaries

    def _find(self, version: str) -> ReleaseMeasure:
        if version not in self._known:
            self._known[version] = self._measure(version)
        return self._known[version]

    def _find_first(self, versions: Iterable[str], question: Question | None) -> ReleaseMeasure | None:
        for version in versions:
            measure = self._find(version)
            if not measure.failed and (question is None or question.name in measure.values):
                return measure
        return None
