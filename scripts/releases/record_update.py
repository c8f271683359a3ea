"""The update of a release's record with new measurements of some programs and targets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from releases.compacting import name_program
from releases.measuring import CODED
from releases.pinned_environments import KINDS, list_packages
from xla_inspect.releases import Release, ReleaseCompile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from releases.measuring import Task

    Names = Mapping[str, tuple[str, ...]]


def list_lacking(record: Release, versions: Mapping[str, str], tasks: Sequence[Task]) -> list[Task]:
    """Return the compilations that a record lacks, has without code, or has from other compiler versions.

    Compilations without an installed compiler are left out.

    Args:
        record: The record.
        versions: The package versions of a new measurement; packages that are not listed may have any version.
        tasks: The tasks of a complete record.
    """
    stale = {
        kind
        for kind in KINDS
        if any(record.versions.get(name) != versions[name] for name in list_packages(kind) if name in versions)
    }

    def holds(task: Task) -> bool:
        program = record.programs.get(name_program(task))
        outcome = program.outcomes.get(task["base"]) if program else None
        if outcome is None or task["kind"] in stale:
            return False
        return bool(outcome.failed) or outcome.code is not None or task["base"] not in CODED

    return [task for task in tasks if task["kind"] not in record.missing and not holds(task)]


def join(record: Release, measured: Release, tasks: Sequence[Task]) -> Release:
    """Return a record with new measurements in place of the earlier ones.

    Args:
        record: The record.
        measured: The new measurements.
        tasks: The tasks of a complete record; other programs and targets are dropped.
    """
    pairs = dict.fromkeys((name_program(task), task["base"]) for task in tasks)
    programs = {}
    for name in sorted({name for name, _ in pairs}):
        both = [release.programs[name] for release in (record, measured) if name in release.programs]
        if not both:
            continue
        bases = [base for program, base in pairs if program == name]
        programs[name] = ReleaseCompile(
            next((release.jaxpr for release in reversed(both) if release.jaxpr), None),
            {base: release.stablehlo[base] for base in bases for release in both if base in release.stablehlo},
            {base: release.outcomes[base] for base in bases for release in both if base in release.outcomes},
        )
    anew = {(name, base) for name, program in measured.programs.items() for base in program.outcomes}
    # If only some tasks of a kind were measured again, the list of passes must also keep the earlier ones.
    partly = {task["kind"] for task in tasks if (name_program(task), task["base"]) not in anew}
    return replace(
        measured,
        passes={
            kind: _unite(record.passes if kind in partly else {}, measured.passes, kind)
            for kind in sorted({**record.passes, **measured.passes})
        },
        parameters=_unite_all(record.parameters, measured.parameters),
        attributes=_unite_all(record.attributes, measured.attributes),
        programs=programs,
        pages=record.pages,
        disagreements=record.disagreements,
        texts={**record.texts, **measured.texts},
    )


def _unite_all(earlier: Names, measured: Names) -> Names:
    return {name: tuple(sorted(_unite(earlier, measured, name))) for name in sorted({**earlier, **measured})}


def _unite(earlier: Names, measured: Names, key: str) -> tuple[str, ...]:
    """Return the names under a key, the earlier ones first."""
    return tuple(dict.fromkeys((*earlier.get(key, ()), *measured.get(key, ()))))
