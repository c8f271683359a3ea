"""What changed from one release of JAX to a later one, as data."""

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
    """A number of one program on one target that changed.

    Attributes:
        program: The program.
        target: The target.
        before: The number under the older release.
        after: The number under the newer.
    """

    program: str
    target: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class CodeChange:
    """A program that launches the same on a target, and whose generated code is another.

    Attributes:
        program: The program.
        target: The target.
        share: Which share of its operations only one of the two has as deep in loops, from 0 to 1, those in loops
            weighed the more.
        deepest: How many loops the innermost lies in, itself counted, before and after.
        operations: How many more of each operation there are.
    """

    program: str
    target: str
    share: float
    deepest: tuple[int, int]
    operations: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Drift:
    """What changed from one release to a later one, in what both measured.

    Attributes:
        old: The older release.
        new: The newer one.
    """

    old: Release
    new: Release

    @cached_property
    def _programs(self) -> Mapping[str, tuple[ReleaseCompile, ReleaseCompile]]:
        """The programs that both have, under the older and the newer."""
        old = self.old.programs
        return {name: (old[name], program) for name, program in self.new.programs.items() if name in old}

    @cached_property
    def _outcomes(self) -> Mapping[tuple[str, str], tuple[ReleaseOutcome, ReleaseOutcome]]:
        """Program and target, to what it came to under both, failures among them."""
        return {
            (name, target): (old.outcomes[target], after)
            for name, (old, new) in self._programs.items()
            for target, after in new.outcomes.items()
            if target in old.outcomes
        }

    @cached_property
    def pairs(self) -> Mapping[tuple[str, str], tuple[ReleaseOutcome, ReleaseOutcome]]:
        """Program and target, to what it came to under both, where it compiled under both."""
        return {pair: both for pair, both in self._outcomes.items() if not any(outcome.failed for outcome in both)}

    @cached_property
    def targets(self) -> tuple[str, ...]:
        """The targets that both compiled for, in the newer one's order."""
        both = {target for _, target in self.pairs}
        return tuple(target for target in self.new.targets if target in both)

    @cached_property
    def launches(self) -> Mapping[tuple[str, str], Mapping[str, int]]:
        """Program and target, to how many more of each sort it launches, where that changed."""
        return {
            pair: changed
            for pair, (before, after) in self.pairs.items()
            if (changed := subtract(after.launches, before.launches))
        }

    @cached_property
    def newly_failing(self) -> Mapping[tuple[str, str], str]:
        """Program and target that compiled before and no longer does, to the error."""
        return {pair: new.failed for pair, (old, new) in self._outcomes.items() if new.failed and not old.failed}

    @cached_property
    def newly_compiling(self) -> Mapping[tuple[str, str], str]:
        """Program and target that compiles now and did not before, to the error it gave."""
        return {pair: old.failed for pair, (old, new) in self._outcomes.items() if old.failed and not new.failed}

    def count(self, target: str) -> int:
        """How many programs compiled for a target under both."""
        return sum(name == target for _, name in self.pairs)

    def changed_programs(self, target: str) -> tuple[str, ...]:
        """The programs that launch other sorts, or another number of them, on a target."""
        return tuple(program for program, name in self.launches if name == target)

    def sorts(self, target: str) -> Counter[str]:
        """How many more launches of each sort all programs together make on a target."""
        total: Counter[str] = Counter()
        for (_, name), changed in self.launches.items():
            if name == target:
                total.update(changed)
        return Counter({sort: number for sort, number in total.items() if number})

    def numbers(self, measure: Callable[[ReleaseOutcome], int | None]) -> tuple[Change, ...]:
        """The numbers that changed, those that changed most first.

        Args:
            measure: What to compare of an outcome; None where it is not known.
        """
        changes = [
            Change(program, target, old, new)
            for (program, target), (before, after) in self.pairs.items()
            if (old := measure(before)) is not None and (new := measure(after)) is not None and old != new
        ]
        return tuple(sorted(changes, key=lambda change: (-_extent(change), change.program, change.target)))

    @cached_property
    def rewritten(self) -> tuple[CodeChange, ...]:
        """What launches the same with code that is mostly another, what changed most first."""
        found = [
            CodeChange(program, target, share, (_deepest(before), _deepest(after)), _subtract_code(before, after))
            for (program, target), (before, after) in self.coded.items()
            if (share := _compare_code(before, after)) >= REWRITTEN
        ]
        return tuple(sorted(found, key=lambda change: (-change.share, change.program, change.target)))

    @cached_property
    def coded(self) -> Mapping[tuple[str, str], tuple[ReleaseOutcome, ReleaseOutcome]]:
        """Those of `pairs` that launch the same under both, with the code of the same number of kernels known."""
        return {
            pair: (before, after)
            for pair, (before, after) in self.pairs.items()
            if before.code and after.code and before.launches == after.launches and before.entries == after.entries
        }

    def passes(self, kind: str) -> PassDrift:
        """How the passes that run on a kind of target differ."""
        return compare_passes(self.old.passes.get(kind, ()), self.new.passes.get(kind, ()))

    @cached_property
    def primitives(self) -> SetChange:
        """Primitives that the programs that both trace are traced to."""
        return _compare_counts(self._jaxprs.values())

    @cached_property
    def operations(self) -> SetChange:
        """Operations that the programs that both lower are lowered to."""
        return _compare_counts(self._modules.values())

    @cached_property
    def _jaxprs(self) -> Mapping[str, tuple[Form, Form]]:
        """Program, to what both trace it to."""
        both = ((name, old.jaxpr, new.jaxpr) for name, (old, new) in self._programs.items())
        return {name: (before, after) for name, before, after in both if before and after}

    @cached_property
    def _modules(self) -> Mapping[tuple[str, str], tuple[Form, Form]]:
        """Program and target, to what both lower it to."""
        return {
            (name, target): (old.stablehlo[target], after)
            for name, (old, new) in self._programs.items()
            for target, after in new.stablehlo.items()
            if target in old.stablehlo
        }

    @cached_property
    def parameters(self) -> Mapping[str, SetChange]:
        """Primitives in both whose parameters differ."""
        return _compare_each(self.old.parameters, self.new.parameters)

    @cached_property
    def attributes(self) -> Mapping[str, SetChange]:
        """Operations in both whose attributes differ."""
        return _compare_each(self.old.attributes, self.new.attributes)

    @cached_property
    def traced(self) -> Mapping[str, Mapping[str, int]]:
        """Program, to how many more of each primitive its jaxpr has, where that changed."""
        return _subtract_forms(self._jaxprs)

    @cached_property
    def lowered(self) -> Mapping[tuple[str, str], Mapping[str, int]]:
        """Program and target, to how many more of each operation its StableHLO has, where that changed."""
        return _subtract_forms(self._modules)

    @cached_property
    def reprinted(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The programs whose jaxpr prints otherwise, and those whose StableHLO for some target does."""
        jaxprs = (name for name, (old, new) in self._jaxprs.items() if old.text != new.text)
        modules = (name for (name, _), (old, new) in self._modules.items() if old.text != new.text)
        return tuple(jaxprs), tuple(dict.fromkeys(modules))

    @cached_property
    def names(self) -> Mapping[str, SetChange]:
        """Modules of JAX whose public names differ, those that only one release has included."""
        none: dict[str, Sequence[str]] = dict.fromkeys((*self.new.names, *self.old.names), ())
        return _compare_each({**none, **self.old.names}, {**none, **self.new.names})


def _compare_code(before: ReleaseOutcome, after: ReleaseOutcome) -> float:
    first, second = (
        {depth: Counter(counts) for depth, counts in (each.code or {}).items()} for each in (before, after)
    )
    return measure_distance(first, second)


def _deepest(outcome: ReleaseOutcome) -> int:
    return max(outcome.code or (0,))


def _subtract_code(before: ReleaseOutcome, after: ReleaseOutcome) -> dict[str, int]:
    """How many more of each operation there are, in loops or not."""
    old, new = Counter[str](), Counter[str]()
    for total, outcome in ((old, before), (new, after)):
        for counts in (outcome.code or {}).values():
            total.update(counts)
    return subtract(new, old)


def _extent(change: Change) -> float:
    """By how much a number grew or shrank, as a factor of at least one."""
    low, high = sorted((change.before, change.after))
    return high / low if low > 0 else float("inf")


def subtract(new: Mapping[str, int], old: Mapping[str, int]) -> dict[str, int]:
    """How many more of each name the first has; what is equal is left out."""
    return {name: change for name in sorted({*new, *old}) if (change := new.get(name, 0) - old.get(name, 0))}


def _subtract_forms[Key](pairs: Mapping[Key, tuple[Form, Form]]) -> dict[Key, dict[str, int]]:
    changed = {key: subtract(new.counts, old.counts) for key, (old, new) in pairs.items()}
    return {key: counts for key, counts in changed.items() if counts}


def _compare_counts(pairs: Iterable[tuple[Form, Form]]) -> SetChange:
    """What occurs in one form of the pairs alone, in the order of the names."""
    old, new = set[str](), set[str]()
    for before, after in pairs:
        old |= before.counts.keys()
        new |= after.counts.keys()
    return compare_names(sorted(old), sorted(new))


def _compare_each(old: Mapping[str, Sequence[str]], new: Mapping[str, Sequence[str]]) -> dict[str, SetChange]:
    changes = {name: compare_names(old[name], new[name]) for name in new if name in old}
    return {name: change for name, change in changes.items() if change.added or change.gone}
