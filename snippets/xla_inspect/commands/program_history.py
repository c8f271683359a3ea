"""The history of a program over releases of JAX, which measures only the releases that are needed."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect.analysis import UNREADABLE, use_lines_of
from xla_inspect.errors import InspectError
from xla_inspect.questions.numbers import digest_results
from xla_inspect.questions.since import (
    ReleaseChange,
    ReleaseHistory,
    ReleaseRow,
    explain_release_change,
    explain_release_failure,
)
from xla_inspect.releases import (
    QUESTIONS,
    TIMED,
    ReleaseError,
    ReleaseMeasure,
    ReleaseSearch,
    list_requirements,
    make_environment,
    measure_capture,
    measure_store,
    read_log,
    read_probe,
    run_probe,
)
from xla_inspect.subject import list_unknown, split_list, write_subject
from xla_inspect.terminal import print_note, printable
from xla_inspect.units import format_bytes, format_duration

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from xla_inspect.captured import Capture
    from xla_inspect.releases import Boundary, Question
    from xla_inspect.subject import ReleaseTask

ANY_CODE = 0.02
"""The least share of different operations for which code counts as changed, if the question is about code."""

_FEW = 3
"""The number of kinds of kernels, copies or collectives in an answer."""


class ProgramHistory:
    """The history of one program and target: it measures releases, and finds the changes between them.

    Args:
        task: The program and its target.
        span: The releases, the oldest first.
        questions: The names of the questions.
        options: The parsed options of the command.
        folder: The folder for the output of the compilers.
    """

    def __init__(
        self,
        task: ReleaseTask,
        span: Sequence[str],
        questions: Sequence[str],
        options: argparse.Namespace,
        folder: Path,
    ) -> None:
        """Prepare the search without measuring a release."""
        self.task, self.span, self.options, self.folder = task, span, options, folder
        # Any change of code counts if the user asks about code. By default, only a change of much of it does.
        least = {"code": ANY_CODE} if "code" in split_list(options.ask) else {}
        self.asked = [replace(QUESTIONS[name], least=least.get(name, QUESTIONS[name].least)) for name in questions]
        self.described: dict[str, dict[str, Any]] = {}
        self.results: dict[str, dict[str, Any]] = {}
        self.versions: dict[str, Mapping[str, str]] = {}
        self.begun = time.monotonic()
        self.search = ReleaseSearch(span, self.measure)

    def find(self) -> ReleaseHistory:
        """Measure the releases that are needed, and return their measurements and the changes between them.

        Raises:
            InspectError: Fewer than two releases can be measured.
        """
        if self.options.every:
            self.search.measure_all()
        # One question with two measured ends is enough for an answer.
        if not any(self.search.find_ends(question) for question in self.asked):
            raise self._explain_nothing()
        if not self.options.every:
            boundaries = [boundary for question in self.asked if (boundary := self.search.find_boundary(question))]
        # The search for one question may measure releases that have further answers to another one.
        by_question = {question.name: self.search.list_boundaries(question) for question in self.asked}
        if self.options.every:
            boundaries = [boundary for several in by_question.values() for boundary in several]
        counts = Counter(boundary.question.name for boundary in boundaries)
        # Boundaries of several questions are found one question after the other, but reported by release.
        order = {version: at for at, version in enumerate(self.span)}
        boundaries.sort(key=lambda boundary: order[boundary.after.version])
        measures = self.search.measures
        changes = tuple(self.explain(boundary) for boundary in boundaries)
        return ReleaseHistory(
            program=self.task.name,
            target=self.task.target.name,
            asked=write_subject(self.options, self.task.target.name),
            first=self.span[0],
            last=self.span[-1],
            questions=tuple(question.name for question in self.asked),
            rows=tuple(map(self.describe_row, measures)),
            not_measured=tuple(
                release for release in self.span if release not in {measure.version for measure in measures}
            ),
            changes=changes,
            installed_bytes=measure_store(),
            repeated=tuple(name for name, several in by_question.items() if len(several) > counts[name]),
        )

    def _explain_nothing(self) -> InspectError:
        """Return the error if fewer than two releases could be measured."""
        failed = [measure for measure in self.search.measures if measure.failed or measure.refused]
        errors = "; ".join(
            f"{measure.version}: {measure.failed or measure.refused}" for measure in (*failed[:1], *failed[1:][-1:])
        )
        place = next((f" at {measure.place}" for measure in failed if measure.place), "")
        message = f"fewer than two releases could be measured for {self.task.name}{place}: {errors}"
        return InspectError(f"{message}\npass other releases with --from and --to, or fix the error")

    def measure(self, version: str) -> ReleaseMeasure:
        """Install a release if necessary, compile and, if requested, run the program; return measures or a failure."""
        kind = self.task.target.kind
        try:
            requirements = (*list_requirements(version, kind), *self.options.install)
            environment = make_environment(version, {kind: requirements}, say=self.say)
            folder = self.folder / version
            # Dumps slow down a compilation, so the question about compile time compiles the program again without them.
            timed = 2 if "compile-time" in {question.name for question in self.asked} else 0
            described = self.task.describe(environment, folder, timed=timed)
            probe = partial(
                run_probe, environment, flags=self.task.flags, paths=self.task.paths, limit=self.options.compile_limit
            )
            ((_, result),) = probe([described], say=lambda _: self.say(f"compiling under JAX {version}"))
            self.described[version], self.results[version] = described, result
            self.versions[version] = environment.versions
            # The dumps are read before the run, which would be in vain if the compilation failed.
            measure = self._read(version)
            if self.options.run and not (measure.failed or measure.refused):
                self.say(f"running under JAX {version}")
                description = self.task.describe(environment, folder / "run", runs=True)
                ((_, run_result),) = run_probe(
                    environment,
                    [description],
                    flags={},
                    paths=self.task.paths,
                    limit=self.options.compile_limit,
                    logged=False,
                )
                measure = _add_runs(measure, run_result, self.options.compile_limit)
        except ReleaseError as error:
            # A release that cannot be installed must not stop the search, which then uses its neighbors.
            return ReleaseMeasure(version, failed=str(error).partition("\n")[0])
        return measure

    def _read(self, version: str) -> ReleaseMeasure:
        described, result, versions = self.described[version], self.results[version], self.versions[version]
        if failed := printable(result.get("failed", "")):
            # An error while the file is loaded or traced is not the compiler's, so the release was not measured.
            if result.get("stage") != "compiling":
                return ReleaseMeasure(version, versions, failed, place=printable(result.get("place", "")))
            values: dict[str, Any] = {"compiles": False}
            if result.get("limited"):
                # The compilation exceeded the time limit or the memory, so the limit is a lower bound of its time.
                values["compile-time"] = self.options.compile_limit
            return ReleaseMeasure(version, versions, refused=failed, values=values)
        try:
            values = {**measure_capture(self.capture(version)), "compile-time": result["processor_seconds"]}
        except (InspectError, OSError, ValueError, LookupError) as error:
            return ReleaseMeasure(version, versions, f"its dumps cannot be read: {error!r}"[:200])
        unknown = list_unknown(described, result)
        notes = (f"its compiler does not know the option {', '.join(unknown)}",) if unknown else ()
        if "numbers" in {question.name for question in self.asked}:
            self.say(f"running the module of JAX {version}")
            try:
                values["numbers"] = digest_results(self.capture(version))
            # Older releases may print modules that cannot be parsed, and then the question has no answer.
            except UNREADABLE as error:
                notes = (*notes, f"its results are not known: {error}")
        return ReleaseMeasure(version, versions, values=values, notes=notes)

    def capture(self, version: str) -> Capture:
        """Return the capture of a release that compiled the program, read again each time since captures are large."""
        return read_probe(self.described[version], self.results[version], self.versions[version])

    def explain(self, boundary: Boundary) -> ReleaseChange:
        """Return the change of an answer between two releases, with its cause from their captures or log."""
        question, pair = boundary.question, (boundary.before, boundary.after)
        releases = (pair[0].version, pair[1].version)
        # The releases between the two could not be measured, so any of them may have made the change.
        between = tuple(release.version for release in boundary.between)
        change = ReleaseChange(question.name, *releases, between, _tell(question, pair[0]), _tell(question, pair[1]))
        # A release whose compiler failed has no module to compare, but its log shows how far it came.
        if refused := next((measure for measure in pair if measure.refused), None):
            folder = Path(self.described[refused.version]["folder"])
            return explain_release_failure(change, refused.refused, folder)
        self.say(f"comparing {releases[0]} with {releases[1]}: {question.name}")
        old, new = use_lines_of(self.options.lines_of, *map(self.capture, releases))
        seconds = [
            read_log(Path(self.described[version]["folder"]) / "log", capture.module.name)[1]
            for version, capture in zip(releases, (old, new), strict=True)
        ]
        return explain_release_change(change, (old, new), count=question.count, pass_seconds=(seconds[0], seconds[1]))

    def describe_row(self, measure: ReleaseMeasure) -> ReleaseRow:
        """Return the measurements of a release as plain numbers."""
        values = measure.values
        code = values.get("code")
        totals = {name: values[name].total() for name in ("kernels", "copies", "collectives") if name in values}
        return ReleaseRow(
            release=measure.version,
            failed=measure.failed or measure.refused,
            place=measure.place,
            versions=dict(measure.versions),
            temporary_bytes=values.get("memory"),
            copies_in_loops=totals.get("copies"),
            kernels=totals.get("kernels"),
            collectives=totals.get("collectives"),
            code=code.digest if code else None,
            numbers=values.get("numbers"),
            code_instructions=code.instructions if code else None,
            code_loops=code.loops.total() if code else None,
            deepest_loops=max(code.loops, default=0) if code else None,
            compile_seconds=None if self.options.no_times else values.get("compile-time"),
            run_seconds=None if self.options.no_times else values.get("run-time"),
            notes=measure.notes,
        )

    def say(self, text: str) -> None:
        """Print a progress message with the seconds since the start to standard error."""
        print_note(f"{text} ({time.monotonic() - self.begun:.0f} s)")


def _add_runs(measure: ReleaseMeasure, result: dict[str, Any], limit: float) -> ReleaseMeasure:
    values, notes = dict(measure.values), measure.notes
    if "median" in result:
        values["run-time"] = result["median"]
    else:
        notes = (*notes, f"the run was not timed: {result.get('failed', 'unknown error')}")
        # A run that exceeds the limit still shows that the program is at least as slow as the limit.
        if str(result.get("failed", "")).startswith("not done"):
            values["run-time"] = limit
    return ReleaseMeasure(measure.version, measure.versions, values=values, notes=notes)


def _tell(question: Question, measure: ReleaseMeasure) -> str:
    """Return the answer of a release to a question as text, such as `yes`, `1.5 MiB` or `12 (10 fusion, 2 copy)`."""
    value = measure.values.get(question.name)
    if value is None or question.name == "numbers":
        return f"hash {value}" if value else "unknown"
    if question.name == "compiles":
        return "yes" if value else "no"
    if question.name == "memory":
        return format_bytes(value)
    if question.name in TIMED:
        return measure.refused or format_duration(value)
    if question.name == "code":
        deep = max(value.loops, default=0)
        return f"{value.digest} ({value.instructions} instructions, loops {deep} deep)"
    few = [f"{number} {name}" for name, number in value.most_common(_FEW)]
    return f"{value.total()} ({', '.join(few)}{', ...' if len(value) > _FEW else ''})" if value else "0"
