"""Bring a record up to date with what was measured anew of a part of its programs and targets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from releases.compacting import name_program
from releases.measuring import CODED
from xla_inspect import targets
from xla_inspect.releases import Release, ReleaseCompile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from releases.measuring import Task

    Names = Mapping[str, tuple[str, ...]]


def list_lacking(known: Release, versions: Mapping[str, str], tasks: Sequence[Task]) -> list[Task]:
    """Return the compiles that a record does not hold, holds without their code, or of other compilers than these.

    Those that the release has no compiler for are left out.

    Args:
        known: The record.
        versions: Package to version, of what would be measured now; a package that is not named may be any.
        tasks: What a whole record holds.
    """
    stale = {
        kind
        for kind, packages in targets.PACKAGES.items()
        if any(known.versions.get(name) != versions[name] for name in packages if name in versions)
    }

    def holds(task: Task) -> bool:
        program = known.programs.get(name_program(task))
        outcome = program.outcomes.get(task["base"]) if program else None
        if outcome is None or task["kind"] in stale:
            return False
        return bool(outcome.failed) or outcome.code is not None or task["base"] not in CODED

    return [task for task in tasks if task["kind"] not in known.missing and not holds(task)]


def join(known: Release, measured: Release, tasks: Sequence[Task]) -> Release:
    """Return a record in which what was measured anew takes the place of what was known.

    Args:
        known: The record.
        measured: What was measured now.
        tasks: All that a record holds; programs and targets that are not among them are dropped.
    """
    held = dict.fromkeys((name_program(task), task["base"]) for task in tasks)
    programs = {}
    for name in sorted({name for name, _ in held}):
        both = [release.programs[name] for release in (known, measured) if name in release.programs]
        if not both:
            continue
        bases = [base for program, base in held if program == name]
        programs[name] = ReleaseCompile(
            next((release.jaxpr for release in reversed(both) if release.jaxpr), None),
            {base: release.stablehlo[base] for base in bases for release in both if base in release.stablehlo},
            {base: release.outcomes[base] for base in bases for release in both if base in release.outcomes},
        )
    anew = {(name, base) for name, program in measured.programs.items() for base in program.outcomes}
    partly = {task["kind"] for task in tasks if (name_program(task), task["base"]) not in anew}
    return replace(
        measured,
        passes={
            kind: _unite(known.passes if kind in partly else {}, measured.passes, kind)
            for kind in sorted({**known.passes, **measured.passes})
        },
        parameters=_unite_all(known.parameters, measured.parameters),
        attributes=_unite_all(known.attributes, measured.attributes),
        programs=programs,
        pages=known.pages,
        disagreements=known.disagreements,
        texts={**known.texts, **measured.texts},
    )


def _unite_all(known: Names, measured: Names) -> Names:
    return {name: tuple(sorted(_unite(known, measured, name))) for name in sorted({**known, **measured})}


def _unite(known: Names, measured: Names, key: str) -> tuple[str, ...]:
    """Return the names under a key, those that were known first."""
    return tuple(dict.fromkeys((*known.get(key, ()), *measured.get(key, ()))))
