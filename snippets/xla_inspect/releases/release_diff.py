"""The changes from one recorded JAX release to a later one, computed from the results in both records."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from xla_inspect.analysis import measure_distance
from xla_inspect.releases.pass_drift import PassDrift, SetChange, compare_names, compare_passes
from xla_inspect.releases.release_measure import REWRITTEN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from xla_inspect.releases.release_record import Form, Release, ReleaseCompile, ReleaseOutcome


@dataclass(frozen=True, slots=True)
class Change:
    """A number of one program on one target that changed from one JAX release to a later one.

    Attributes:
        program: The program.
        target: The target.
        before: The number with the older release.
        after: The number with the newer release.
    """

    program: str
    target: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class CodeChange:
    """A program with the same launches on a target but different generated code.

    Attributes:
        program: The program.
        target: The target.
        share: The share of operations that only one release has at the same loop depth, from 0 to 1, with operations in
            loops weighted more.
        deepest: The depth of the most deeply nested loop, before and after.
        operations: The change in the number of each operation.
    """

    program: str
    target: str
    share: float
    deepest: tuple[int, int]
    operations: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Drift:
    """The changes from one release to a later one, in the data that both have.

    Attributes:
        old: The older release.
        new: The newer release.
    """

    old: Release
    new: Release

    @cached_property
    def _programs(self) -> Mapping[str, tuple[ReleaseCompile, ReleaseCompile]]:
        """The programs that both releases have, with the older and the newer result."""
        old = self.old.programs
        return {name: (old[name], program) for name, program in self.new.programs.items() if name in old}

    @cached_property
    def _outcomes(self) -> Mapping[tuple[str, str], tuple[ReleaseOutcome, ReleaseOutcome]]:
        """Both releases' outcomes by program and target, including failures."""
        return {
            (name, target): (old.outcomes[target], after)
            for name, (old, new) in self._programs.items()
            for target, after in new.outcomes.items()
            if target in old.outcomes
        }

    @cached_property
    def pairs(self) -> Mapping[tuple[str, str], tuple[ReleaseOutcome, ReleaseOutcome]]:
        """Both releases' outcomes by program and target, if it compiled with both."""
        return {pair: both for pair, both in self._outcomes.items() if not any(outcome.failed for outcome in both)}

    @cached_property
    def targets(self) -> tuple[str, ...]:
        """The targets that both releases compiled for, in the newer one's order."""
        both = {target for _, target in self.pairs}
        return tuple(target for target in self.new.targets if target in both)

    @cached_property
    def launches(self) -> Mapping[tuple[str, str], Mapping[str, int]]:
        """The change in the number of launches of each sort, by program and target, without unchanged ones."""
        return {
            pair: difference
            for pair, (before, after) in self.pairs.items()
            if (difference := subtract(after.launches, before.launches))
        }

    @cached_property
    def newly_failing(self) -> Mapping[tuple[str, str], str]:
        """The error of each program and target that compiled with the older release only."""
        return {pair: new.failed for pair, (old, new) in self._outcomes.items() if new.failed and not old.failed}

    @cached_property
    def newly_compiling(self) -> Mapping[tuple[str, str], str]:
        """The older release's error for each program and target that compiles with the newer release only."""
        return {pair: old.failed for pair, (old, new) in self._outcomes.items() if old.failed and not new.failed}

    def count(self, target: str) -> int:
        """Return the number of programs that compiled for a target with both releases."""
        return sum(name == target for _, name in self.pairs)

    def changed_programs(self, target: str) -> tuple[str, ...]:
        """Return the programs with different launches, in sort or number, on a target."""
        return tuple(program for program, name in self.launches if name == target)

    def sorts(self, target: str) -> Counter[str]:
        """Return the change in the number of launches of each sort on a target, over all programs."""
        total: Counter[str] = Counter()
        for (_, name), difference in self.launches.items():
            if name == target:
                total.update(difference)
        return Counter({sort: number for sort, number in total.items() if number})

    def numbers(self, measure: Callable[[ReleaseOutcome], int | None]) -> tuple[Change, ...]:
        """Return the numbers that changed, the one that grew or shrank by the largest factor first.

        Args:
            measure: Returns the number to compare from an outcome, or None if it is unknown.
        """
        changes = [
            Change(program, target, old, new)
            for (program, target), (before, after) in self.pairs.items()
            if (old := measure(before)) is not None and (new := measure(after)) is not None and old != new
        ]
        return tuple(sorted(changes, key=lambda change: (-_extent(change), change.program, change.target)))

    @cached_property
    def rewritten(self) -> tuple[CodeChange, ...]:
        """The entries of `coded` in which at least half of the weighted operations differ, largest change first."""
        changes = [
            CodeChange(program, target, share, (_deepest(before), _deepest(after)), _subtract_code(before, after))
            for (program, target), (before, after) in self.coded.items()
            if (share := _compare_code(before, after)) >= REWRITTEN
        ]
        return tuple(sorted(changes, key=lambda change: (-change.share, change.program, change.target)))

    @cached_property
    def coded(self) -> Mapping[tuple[str, str], tuple[ReleaseOutcome, ReleaseOutcome]]:
        """The entries of `pairs` with the same launches and with code for the same number of kernels."""
        return {
            pair: (before, after)
            for pair, (before, after) in self.pairs.items()
            if before.code and after.code and before.launches == after.launches and before.entries == after.entries
        }

    def passes(self, kind: str) -> PassDrift:
        """Return the difference between the lists of passes that the releases run for a kind of target."""
        return compare_passes(self.old.passes.get(kind, ()), self.new.passes.get(kind, ()))

    @cached_property
    def primitives(self) -> SetChange:
        """The change in the set of primitives of the programs that both releases trace."""
        return _compare_counts(self._jaxprs.values())

    @cached_property
    def operations(self) -> SetChange:
        """The change in the set of StableHLO operations of the programs that both releases lower."""
        return _compare_counts(self._modules.values())

    @cached_property
    def _jaxprs(self) -> Mapping[str, tuple[Form, Form]]:
        """Both releases' jaxpr forms, by program."""
        both = ((name, old.jaxpr, new.jaxpr) for name, (old, new) in self._programs.items())
        return {name: (before, after) for name, before, after in both if before and after}

    @cached_property
    def _modules(self) -> Mapping[tuple[str, str], tuple[Form, Form]]:
        """Both releases' StableHLO forms, by program and target."""
        return {
            (name, target): (old.stablehlo[target], after)
            for name, (old, new) in self._programs.items()
            for target, after in new.stablehlo.items()
            if target in old.stablehlo
        }

    @cached_property
    def parameters(self) -> Mapping[str, SetChange]:
        """The added and removed parameters of each primitive that both releases have, without unchanged primitives."""
        return _compare_each(self.old.parameters, self.new.parameters)

    @cached_property
    def attributes(self) -> Mapping[str, SetChange]:
        """The added and removed attributes of each operation that both releases have, without unchanged operations."""
        return _compare_each(self.old.attributes, self.new.attributes)

    @cached_property
    def traced(self) -> Mapping[str, Mapping[str, int]]:
        """The change in the number of each primitive in a program's jaxpr, without unchanged programs."""
        return _subtract_forms(self._jaxprs)

    @cached_property
    def lowered(self) -> Mapping[tuple[str, str], Mapping[str, int]]:
        """The change in the number of each StableHLO operation, by program and target, without unchanged ones."""
        return _subtract_forms(self._modules)

    @cached_property
    def reprinted(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The programs whose printed jaxpr differs, and those whose StableHLO differs for some target."""
        jaxprs = (name for name, (old, new) in self._jaxprs.items() if old.text != new.text)
        modules = (name for (name, _), (old, new) in self._modules.items() if old.text != new.text)
        return tuple(jaxprs), tuple(dict.fromkeys(modules))

    @cached_property
    def names(self) -> Mapping[str, SetChange]:
        """The added and removed public names of each JAX module that changed, also if only one release has it."""
        # A module that one release lacks is compared with an empty one.
        none: dict[str, Sequence[str]] = dict.fromkeys((*self.new.names, *self.old.names), ())
        return _compare_each({**none, **self.old.names}, {**none, **self.new.names})


def _compare_code(before: ReleaseOutcome, after: ReleaseOutcome) -> float:
    first, second = (
        {depth: Counter(counts) for depth, counts in (outcome.code or {}).items()} for outcome in (before, after)
    )
    return measure_distance(first, second)


def _deepest(outcome: ReleaseOutcome) -> int:
    return max(outcome.code or (0,))


def _subtract_code(before: ReleaseOutcome, after: ReleaseOutcome) -> dict[str, int]:
    """Return the change in the number of each operation, summed over all loop depths."""
    old, new = Counter[str](), Counter[str]()
    for total, outcome in ((old, before), (new, after)):
        for counts in (outcome.code or {}).values():
            total.update(counts)
    return subtract(new, old)


def _extent(change: Change) -> float:
    """Return the factor, at least 1, by which a number grew or shrank."""
    low, high = sorted((change.before, change.after))
    # No factor leads from zero to another number.
    return high / low if low > 0 else float("inf")


def subtract(new: Mapping[str, int], old: Mapping[str, int]) -> dict[str, int]:
    """Return the difference `new - old` of each count, without zeros."""
    return {name: change for name in sorted({*new, *old}) if (change := new.get(name, 0) - old.get(name, 0))}


def _subtract_forms[Key](pairs: Mapping[Key, tuple[Form, Form]]) -> dict[Key, dict[str, int]]:
    differences = {key: subtract(new.counts, old.counts) for key, (old, new) in pairs.items()}
    return {key: counts for key, counts in differences.items() if counts}


def _compare_counts(pairs: Iterable[tuple[Form, Form]]) -> SetChange:
    """Return the primitives or operations that only the newer, or only the older forms of all pairs have, sorted."""
    old, new = set[str](), set[str]()
    for before, after in pairs:
        old |= before.counts.keys()
        new |= after.counts.keys()
    return compare_names(sorted(old), sorted(new))


def _compare_each(old: Mapping[str, Sequence[str]], new: Mapping[str, Sequence[str]]) -> dict[str, SetChange]:
    changes = {name: compare_names(old[name], new[name]) for name in new if name in old}
    return {name: change for name, change in changes.items() if change.added or change.gone}
