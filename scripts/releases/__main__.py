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
say = partial(common.say, aside=True)  # standard output is for the comparison


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit status."""
    options = read_options(arguments)
    try:
        return work(options)
    except (ReleaseError, InspectError) as error:
        print(f"drift: {error}", file=sys.stderr)
        return 1


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options, with lists for those that accept several values."""
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
    """A release to measure, or the pinned one with another libtpu, which is only measured for TPUs."""

    version: str
    libtpu: str = ""

    def __str__(self) -> str:
        """Return the name of the release in messages."""
        return f"{self.version} with libtpu {self.libtpu}" if self.libtpu else self.version

    def locate(self, folder: Path) -> Path:
        """Return the path of the release's record."""
        return folder / (f"libtpu/{self.libtpu}.json" if self.libtpu else f"{self.version}.json")

    def list_tasks(self, options: argparse.Namespace) -> list[Task]:
        """Return the compilations to make; with another libtpu, only those for TPUs."""
        tasks = measuring.list_tasks(options.programs, options.targets)
        return [task for task in tasks if task["kind"] == "tpu"] if self.libtpu else tasks


def list_asked(options: argparse.Namespace) -> list[Asked]:
    """Return the requested releases; for another libtpu also the pinned release, with which it is compared."""
    versions = [*options.versions, *([list_releases()[-1]] if options.newest else [])]
    if options.pinned or options.libtpu:
        versions.append(pinned_environments.read_pins()["jax"])
    return [*(Asked(versions[-1], libtpu) for libtpu in options.libtpu), *map(Asked, dict.fromkeys(versions))]


def work(options: argparse.Namespace) -> int:
    """Measure the requested releases, print the changes between them, and return 1 if one cannot be measured."""
    options.out.mkdir(parents=True, exist_ok=True)
    requests = list_asked(options)
    records = {Asked(release.jax): release for release in read_releases(options.out, stamps.read_text)}
    for release in read_releases(options.out / "libtpu", stamps.read_text):
        records[Asked(release.jax, release.versions["libtpu"])] = release
    bad = {}
    for request in requests:
        try:
            records[request] = bring(request, records.get(request), options)
        except ReleaseError as error:
            say(f"{request}: {error}")
            bad[str(request)] = str(error)
    releases = [
        records[request] for request in requests or records if request in records and (requests or not request.libtpu)
    ]
    releases.sort(key=lambda release: release.order)
    # A single release has no changes, so the latest earlier one is added for the comparison.
    if options.newest and len(releases) == 1:
        older = [
            release for request, release in records.items() if not request.libtpu and release.order < releases[0].order
        ]
        releases = sorted(older, key=lambda release: release.order)[-1:] + releases
    print(change_summary.compare_all(releases, bad))
    return 1 if bad else 0


def bring(request: Asked, earlier: Release | None, options: argparse.Namespace) -> Release:
    """Return the record of a release, after measuring and writing the missing parts.

    Raises:
        ReleaseError: The release cannot be measured.
    """
    path, tasks = request.locate(options.out), request.list_tasks(options)
    if not earlier and (options.programs or options.targets) and options.out == DATA:
        message = "a part of the programs or targets is no record of a release: say --out FOLDER"
        raise ReleaseError(message)
    lacks = (
        list_lacking(earlier, pinned_environments.list_pinned(request.version, request.libtpu), tasks)
        if earlier
        else tasks
    )
    compiles = not earlier or options.again or (bool(lacks) and options.complete)
    runs_pages = not (options.without_pages or request.libtpu) and (options.again or not (earlier and earlier.pages))
    if earlier and not compiles and lacks:
        say(f"{request}: its record lacks {len(lacks)} of {len(tasks)} compiles: --complete adds them")
    if earlier and not compiles and not runs_pages:
        say(f"{request}: measured already")
        return earlier
    say(f"{request}: installing, unless it is")
    environment = pinned_environments.make(request.version, request.libtpu)
    if options.again:
        forget(environment.folder, tasks)
    for kind, reason in environment.missing.items():
        say(f"{request}: no compiler for {kind}: {reason}")
    record = earlier
    if record is None or compiles:
        due = tasks if options.again else lacks
        measured = compact(environment, due, measuring.measure_release(environment, due, say))
        if request.libtpu:  # the release's own record has the data about JAX
            measured = replace(measured, names={}, texts={})
        record = join(record, measured, measuring.list_tasks()) if record else measured
        # The record is written now, since running the pages takes as long as everything above and may be interrupted.
        write_record(path, record)
    if runs_pages:
        counts, failed = pages.run_pages(environment, say)
        record = replace(record, pages=counts, disagreements=failed)
        write_record(path, record)
    say(f"{request}: {len(record.programs)} programs, written to {path.name}, {path.stat().st_size // 1024} KiB")
    return record


def write_record(path: Path, release: Release) -> None:
    """Write the record of a release."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(stamps.seal(write_release(release)), encoding="utf-8", newline="\n")


def forget(folder: Path, tasks: Sequence[Task]) -> None:
    """Delete the stored results of these compilations and of all pages, so that they are measured again."""
    for task in tasks:
        (folder / task["file"]).unlink(missing_ok=True)
    shutil.rmtree(folder / "pages", ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
