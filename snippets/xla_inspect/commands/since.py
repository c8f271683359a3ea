"""The command `xla-inspect since`, which finds the release of JAX that changed a program."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from xla_inspect.commands import child_process, command_list, issue_text, question
from xla_inspect.commands.program_history import ProgramHistory
from xla_inspect.errors import InspectError, TargetUnavailableError
from xla_inspect.output_file import write_file
from xla_inspect.releases import (
    QUESTIONS,
    ReleaseError,
    choose_span,
    find_obstacle,
    list_installed,
    list_releases,
    order,
)
from xla_inspect.subject import ReleaseTask, split_list, write_subject
from xla_inspect.targets import find_version
from xla_inspect.terminal import print_note

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from xla_inspect.questions.since import ReleaseHistory


USUAL = ("compiles", "kernels", "memory", "copies", "collectives", "code")
"""The default questions."""

SPAN = 10
"""The number of releases before the last one at which the search begins by default."""


def run_command(options: argparse.Namespace, out: TextIO) -> int:
    """Find changes between releases, print them and, if requested, write an issue; return 1 if there is a change.

    Raises:
        InspectError: An option is invalid, or fewer than two releases can be measured.
    """
    questions = _choose_questions(options)
    options.target = list(split_list(options.target or ["cpu"]))
    request = question.read_request(options)
    tasks = [ReleaseTask(request, target) for target in dict.fromkeys(options.target)]
    for task in tasks:
        # An obstacle is reported before the first release is installed, which is slow.
        if reason := find_obstacle(task.target.platform):
            raise TargetUnavailableError(task.target.name, reason)
    if "run-time" in questions and any(task.target.kind != "cpu" for task in tasks):
        message = "--run measures on this machine's CPU; remove --target, or pass --target cpu"
        raise InspectError(message)
    span = _choose_span(options)
    try:
        answers = list(_answer_each(tasks, span, questions, options))
    except SystemExit as error:
        # None of the user's code runs in this process, so only a signal can have raised SystemExit.
        print_note("ended by a signal")
        return int(error.code or command_list.BAD_INPUT)
    question.print_answers(answers, tasks[0].name, options, out)
    if options.issue:
        # An issue is about one target, so the first one with a change is chosen.
        answer = next((answer for answer in answers if not answer.holds), answers[0])
        source = Path(tasks[0].file).read_text(encoding="utf-8") if tasks[0].file else ""
        write_file(options.issue, issue_text.write_issue(answer, source, write_subject(options, answer.target)))
    return command_list.OK if all(answer.holds for answer in answers) else command_list.NO


def _answer_each(
    tasks: Sequence[ReleaseTask], span: Sequence[str], names: Sequence[str], options: argparse.Namespace
) -> Iterator[ReleaseHistory]:
    with child_process.ending_by_exception(), tempfile.TemporaryDirectory(prefix="xla_inspect_since_") as folder:
        for task in tasks:
            # A target with a grid has a colon in its name, which some file systems do not allow.
            place = Path(folder) / task.target.name.replace(":", "_")
            yield ProgramHistory(task, span, names, options, place).find()


def _choose_questions(options: argparse.Namespace) -> tuple[str, ...]:
    names = split_list(options.ask)
    for name in names:
        if name not in QUESTIONS:
            message = f"--ask {name}: there is no such question; the questions are {', '.join(QUESTIONS)}"
            raise InspectError(message)
    # The question about run time implies the option that runs the program.
    if "run-time" in names:
        options.run = True
    chosen = names or USUAL
    return (*chosen, "run-time") if options.run and "run-time" not in chosen else tuple(chosen)


def _choose_span(options: argparse.Namespace) -> tuple[str, ...]:
    """Return the range of releases in the options; by default the installed release and the ten before it."""
    print_note("listing the releases of JAX ...")
    releases = _list_known()
    here = find_version("jax") or ""
    last = options.last or (here if here in releases else releases[-1])
    # An unknown last release has no position in the list; `choose_span` reports it.
    if not options.first and last in releases:
        options.first = releases[max(releases.index(last) - SPAN, 0)]
    return choose_span(releases, options.first, last)


def _list_known() -> tuple[str, ...]:
    """Return all releases, or the installed ones if the package index does not respond.

    Raises:
        ReleaseError: The package index does not respond, and fewer than two releases are installed.
    """
    try:
        return list_releases()
    except ReleaseError as error:
        installed = tuple(sorted(list_installed(), key=order))
        if len(installed) <= 1:
            raise
        print_note(f"{str(error).partition(chr(10))[0]}; using the installed releases: {', '.join(installed)}")
        return installed
