"""`scripts/drift`: measure releases of JAX, keep what they came to, and print what changed between them."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from releases import environments, measuring, pages, summary
from releases.compacting import compact, name_program
from releases.environments import ROOT, ReleaseError
from xla_inspect.capture import targets
from xla_inspect.errors import InspectError
from xla_inspect.hlo import releases as records

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releases.measuring import Task
    from xla_inspect.hlo.releases import Release

DATA = ROOT / "docs" / "data" / "drift"

STARTED = time.monotonic()


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments ask for; return the exit status."""
    options = read_options(arguments)
    try:
        return work(options)
    except (ReleaseError, InspectError) as error:
        print(f"drift: {error}", file=sys.stderr)
        return 1


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options, with lists for those that take several."""
    parser = argparse.ArgumentParser(prog="scripts/drift", description=__doc__)
    parser.add_argument("versions", nargs="*", metavar="VERSION", help="released versions of JAX")
    parser.add_argument("--newest", action="store_true", help="the newest release that installs here")
    parser.add_argument("--without-pages", action="store_true", help="leave out the site's pages, which take longest")
    parser.add_argument("--again", action="store_true", help="measure anew what is measured")
    parser.add_argument("--complete", action="store_true", help="measure what records lack, such as new programs")
    parser.add_argument("--programs", type=_split, default=[], help="files of snippets/programs, for a trial")
    parser.add_argument("--targets", type=_split, default=[], help="targets, for a trial")
    parser.add_argument("--out", type=Path, default=DATA, help="where the records lie")
    options = parser.parse_args(arguments)
    if unknown := set(options.targets) - set(targets.TARGETS):
        parser.error(f"no target is named {', '.join(sorted(unknown))}; the targets are {', '.join(targets.TARGETS)}")
    if (options.programs or options.targets) and options.out == DATA:
        parser.error("a part of the programs or targets is no record of a release: say --out FOLDER")
    return options


def _split(text: str) -> list[str]:
    return [each for each in text.split(",") if each]


def say(text: str) -> None:
    """Say how far it is, with the time since the start."""
    print(f"[{time.monotonic() - STARTED:4.0f} s] {text}", file=sys.stderr, flush=True)


def work(options: argparse.Namespace) -> int:
    """Measure what is asked for, and print what changed.

    Raises:
        ReleaseError: A release cannot be measured. Those before it are kept.
    """
    options.out.mkdir(parents=True, exist_ok=True)
    known = {release.jax: release for release in records.read_all(options.out)}
    asked = [*options.versions, *([environments.find_newest()] if options.newest else [])]
    bad = {}
    for version in dict.fromkeys(asked):
        try:
            known[version] = bring(version, known.get(version), options)
        except ReleaseError as error:
            say(f"{version}: {error}")
            bad[version] = str(error)
    shown = sorted((known[version] for version in asked or known if version in known), key=lambda each: each.order)
    if options.newest and len(shown) == 1:
        older = [each for each in known.values() if each.order < shown[0].order]
        shown = sorted(older, key=lambda each: each.order)[-1:] + shown
    print(summary.compare_all(shown, bad))
    return 1 if bad else 0


def bring(version: str, known: Release | None, options: argparse.Namespace) -> Release:
    """Return the record of a release, measured and written where it is not yet.

    Raises:
        ReleaseError: The release cannot be measured.
    """
    path = options.out / f"{version}.json"
    tasks = measuring.list_tasks(options.programs, options.targets)
    lacks = list_lacking(known, tasks) if known else tasks
    compiles = not known or options.again or (bool(lacks) and options.complete)
    runs_pages = not options.without_pages and (options.again or not (known and known.pages))
    if known and not compiles and lacks:
        say(f"{version}: its record lacks {len(lacks)} of {len(tasks)} compiles: --complete adds them")
    if known and not compiles and not runs_pages:
        say(f"{version}: measured already")
        return known
    if options.again:
        shutil.rmtree(environments.STORE / version / "raw", ignore_errors=True)
        shutil.rmtree(environments.STORE / version / "pages", ignore_errors=True)
    say(f"{version}: installing, unless it is")
    environment = environments.make(version)
    for kind, reason in environment.missing.items():
        say(f"{version}: no compiler for {kind}: {reason}")
    found = known
    if found is None or compiles:
        measured = compact(environment, tasks, measuring.measure(environment, tasks, say))
        found = replace(measured, pages=found.pages, disagreements=found.disagreements) if found else measured
        # Kept at once: running the pages takes as long as all of the above.
        path.write_text(records.write(found), encoding="utf-8", newline="\n")
    if runs_pages:
        counts, failed = pages.run(environment, say)
        found = replace(found, pages=counts, disagreements=failed)
        path.write_text(records.write(found), encoding="utf-8", newline="\n")
    say(f"{version}: {len(found.programs)} programs, written to {path.name}, {path.stat().st_size // 1024} KiB")
    return found


def list_lacking(known: Release, tasks: Sequence[Task]) -> list[Task]:
    """Return the compiles that a record does not hold, those left out for which the release has no compiler."""

    def holds(task: Task) -> bool:
        program = known.programs.get(name_program(task))
        return task["kind"] in known.missing or (program is not None and task["base"] in program.outcomes)

    return [task for task in tasks if not holds(task)]


if __name__ == "__main__":
    sys.exit(main())
