"""`scripts/drift`: measure releases of JAX, keep what they came to, and print what changed between them."""

from __future__ import annotations

import argparse
import shutil
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import common
import stamps
from common import ROOT
from releases import change_summary, measuring, pages, pinned_environments
from releases.compacting import compact
from releases.record_update import join, list_lacking
from xla_inspect import targets
from xla_inspect.errors import InspectError
from xla_inspect.releases import ReleaseError, list_releases, read_releases, write_release

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releases.measuring import Task
    from xla_inspect.releases import Release

DATA = ROOT / "docs" / "data" / "drift"
say = partial(common.say, aside=True)  # what is printed is the comparison


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
    parser.add_argument("--pinned", action="store_true", help="the release that is pinned, with exactly the pins")
    parser.add_argument("--newest", action="store_true", help="the newest release that installs here")
    parser.add_argument("--without-pages", action="store_true", help="leave out the site's pages, which take longest")
    parser.add_argument("--again", action="store_true", help="measure anew what is measured")
    parser.add_argument("--complete", action="store_true", help="measure what records lack, such as new programs")
    parser.add_argument("--programs", type=_split, default=[], help="only these files of snippets/programs")
    parser.add_argument("--targets", type=_split, default=[], help="only these targets")
    parser.add_argument("--libtpu", type=_split, default=[], help="compare these libtpu with the one that is pinned")
    parser.add_argument("--out", type=Path, default=DATA, help="where the records lie")
    options = parser.parse_args(arguments)
    if options.libtpu and (options.versions or options.newest):
        parser.error("--libtpu is about the JAX that is pinned: name no other release")
    if unknown := set(options.targets) - set(targets.TARGETS):
        parser.error(f"no target is named {', '.join(sorted(unknown))}; the targets are {', '.join(targets.TARGETS)}")
    return options


def _split(text: str) -> list[str]:
    return [item for item in text.split(",") if item]


@dataclass(frozen=True)
class Asked:
    """A release to measure, or the pinned one with another libtpu, for TPUs alone."""

    version: str
    libtpu: str = ""

    def __str__(self) -> str:
        """Return what it is called in a message."""
        return f"{self.version} with libtpu {self.libtpu}" if self.libtpu else self.version

    def locate(self, folder: Path) -> Path:
        """Return the file of its record."""
        return folder / (f"libtpu/{self.libtpu}.json" if self.libtpu else f"{self.version}.json")

    def list_tasks(self, options: argparse.Namespace) -> list[Task]:
        """Return what is to be compiled."""
        tasks = measuring.list_tasks(options.programs, options.targets)
        return [task for task in tasks if task["kind"] == "tpu"] if self.libtpu else tasks


def list_asked(options: argparse.Namespace) -> list[Asked]:
    """Return what the options ask for; with another libtpu, what it is compared with too."""
    versions = [*options.versions, *([list_releases()[-1]] if options.newest else [])]
    if options.pinned or options.libtpu:
        versions.append(pinned_environments.read_pins()["jax"])
    return [*(Asked(versions[-1], libtpu) for libtpu in options.libtpu), *map(Asked, dict.fromkeys(versions))]


def work(options: argparse.Namespace) -> int:
    """Measure what is asked for, and print what changed.

    Raises:
        ReleaseError: A release cannot be measured. Those before it are kept.
    """
    options.out.mkdir(parents=True, exist_ok=True)
    asked = list_asked(options)
    known = {Asked(release.jax): release for release in read_releases(options.out, stamps.read_text)}
    for release in read_releases(options.out / "libtpu", stamps.read_text):
        known[Asked(release.jax, release.versions["libtpu"])] = release
    bad = {}
    for request in asked:
        try:
            known[request] = bring(request, known.get(request), options)
        except ReleaseError as error:
            say(f"{request}: {error}")
            bad[str(request)] = str(error)
    releases = [known[request] for request in asked or known if request in known and (asked or not request.libtpu)]
    releases.sort(key=lambda release: release.order)
    if options.newest and len(releases) == 1:
        older = [
            release for request, release in known.items() if not request.libtpu and release.order < releases[0].order
        ]
        releases = sorted(older, key=lambda release: release.order)[-1:] + releases
    print(change_summary.compare_all(releases, bad))
    return 1 if bad else 0


def bring(asked: Asked, known: Release | None, options: argparse.Namespace) -> Release:
    """Return the record of a release, measured and written where it is not yet.

    Raises:
        ReleaseError: The release cannot be measured.
    """
    path, tasks = asked.locate(options.out), asked.list_tasks(options)
    if not known and (options.programs or options.targets) and options.out == DATA:
        message = "a part of the programs or targets is no record of a release: say --out FOLDER"
        raise ReleaseError(message)
    lacks = list_lacking(known, pinned_environments.list_pinned(asked.version, asked.libtpu), tasks) if known else tasks
    compiles = not known or options.again or (bool(lacks) and options.complete)
    runs_pages = not (options.without_pages or asked.libtpu) and (options.again or not (known and known.pages))
    if known and not compiles and lacks:
        say(f"{asked}: its record lacks {len(lacks)} of {len(tasks)} compiles: --complete adds them")
    if known and not compiles and not runs_pages:
        say(f"{asked}: measured already")
        return known
    say(f"{asked}: installing, unless it is")
    environment = pinned_environments.make(asked.version, asked.libtpu)
    if options.again:
        forget(environment.folder, tasks)
    for kind, reason in environment.missing.items():
        say(f"{asked}: no compiler for {kind}: {reason}")
    record = known
    if record is None or compiles:
        due = tasks if options.again else lacks
        measured = compact(environment, due, measuring.measure_release(environment, due, say))
        if asked.libtpu:  # what JAX itself is stands in the record of the release
            measured = replace(measured, names={}, texts={})
        record = join(record, measured, measuring.list_tasks()) if record else measured
        # Kept at once: running the pages takes as long as all of the above.
        write_record(path, record)
    if runs_pages:
        counts, failed = pages.run_pages(environment, say)
        record = replace(record, pages=counts, disagreements=failed)
        write_record(path, record)
    say(f"{asked}: {len(record.programs)} programs, written to {path.name}, {path.stat().st_size // 1024} KiB")
    return record


def write_record(path: Path, release: Release) -> None:
    """Write a record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(stamps.seal(write_release(release)), encoding="utf-8", newline="\n")


def forget(folder: Path, tasks: Sequence[Task]) -> None:
    """Remove what compiles and pages left, so that they are measured anew."""
    for task in tasks:
        (folder / task["file"]).unlink(missing_ok=True)
    shutil.rmtree(folder / "pages", ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
