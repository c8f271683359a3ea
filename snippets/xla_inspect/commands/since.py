"""`xla-inspect since`: a program under the releases of JAX between two, and the one that changed it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from xla_inspect.commands import child_process, command_list, issue_text, question
from xla_inspect.commands.program_history import ProgramHistory
from xla_inspect.errors import InspectError, TargetUnavailableError
from xla_inspect.output_file import write_file
from xla_inspect.releases import (
    COMPILE_LIMIT,
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
"""What is asked where the reader does not say."""

SPAN = 10
"""How many releases back the search begins where the reader does not say."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add which releases are measured, and what is asked of them."""
    question.add_arguments(parser)
    which = parser.add_argument_group("which releases, and what is asked of them")
    which.add_argument("--from", metavar="VERSION", dest="first", default="", help="the oldest release of JAX")
    which.add_argument("--to", metavar="VERSION", dest="last", default="", help="the newest; by default the one here")
    which.add_argument(
        "--ask",
        metavar="QUESTION",
        action="append",
        default=[],
        help=f"find where this changes; may repeat: {', '.join(QUESTIONS)}",
    )
    which.add_argument("--every", action="store_true", help="measure every release, also where it tells nothing more")
    which.add_argument("--run", action="store_true", help="time it on this machine's CPU too")
    which.add_argument(
        "--install",
        metavar="REQUIREMENT",
        action="append",
        default=[],
        help="what the program imports besides JAX, such as 'flax<0.11'; may repeat",
    )
    which.add_argument(
        "--compile-limit",
        metavar="S",
        type=float,
        default=COMPILE_LIMIT,
        help="seconds that a release may take for it (default: %(default)g)",
    )
    question.add_forms(parser)
    parser.add_argument_group("its form").add_argument(
        "--issue", metavar="FILE.md", type=Path, help="write the text of an issue: reproducer, versions, differences"
    )


def run_command(options: argparse.Namespace, out: TextIO) -> int:
    """Find what changed, tell it, and return the exit status: 1 where anything did.

    Raises:
        InspectError: Something is wrong with what was asked, or no release can be measured.
    """
    asked = _choose_questions(options)
    options.target = list(split_list(options.target or ["cpu"]))
    request = question.read_request(options)
    tasks = [ReleaseTask(request, target) for target in dict.fromkeys(options.target)]
    for task in tasks:
        if reason := find_obstacle(task.target.kind):
            raise TargetUnavailableError(task.target.name, reason)
    if "run-time" in asked and any(task.target.kind != "cpu" for task in tasks):
        message = "--run times on this machine's CPU: leave --target out, or say --target cpu"
        raise InspectError(message)
    span = _choose_span(options)
    try:
        answers = list(_answer_each(tasks, span, asked, options))
    except SystemExit as error:
        # None of the reader's code runs in this process: it is a signal that asks it to end.
        print_note("ended by a signal")
        return int(error.code or command_list.BAD_INPUT)
    question.print_answers(answers, tasks[0].name, options, out)
    if options.issue:
        changed = next((answer for answer in answers if not answer.holds), answers[0])
        source = Path(tasks[0].file).read_text(encoding="utf-8") if tasks[0].file else ""
        write_file(options.issue, issue_text.write_issue(changed, source, write_subject(options, changed.target)))
    return command_list.OK if all(answer.holds for answer in answers) else command_list.NO


def _answer_each(
    tasks: Sequence[ReleaseTask], span: Sequence[str], asked: Sequence[str], options: argparse.Namespace
) -> Iterator[ReleaseHistory]:
    with child_process.ending_by_exception(), tempfile.TemporaryDirectory(prefix="xla_inspect_since_") as folder:
        for task in tasks:
            place = Path(folder) / task.target.name.replace(":", "_")
            yield ProgramHistory(task, span, asked, options, place).find()


def _choose_questions(options: argparse.Namespace) -> tuple[str, ...]:
    asked = split_list(options.ask)
    for name in asked:
        if name not in QUESTIONS:
            message = f"--ask {name}: there is no such question; there are {', '.join(QUESTIONS)}"
            raise InspectError(message)
    if "run-time" in asked:
        options.run = True
    chosen = asked or USUAL
    return (*chosen, "run-time") if options.run and "run-time" not in chosen else tuple(chosen)


def _choose_span(options: argparse.Namespace) -> tuple[str, ...]:
    """Return the releases between the two that the options name, or between the one here and ten before it."""
    print_note("asking which releases of JAX there are ...")
    known = _list_known()
    here = find_version("jax") or ""
    last = options.last or (here if here in known else known[-1])
    if not options.first and last in known:
        options.first = known[max(known.index(last) - SPAN, 0)]
    return choose_span(known, options.first, last)


def _list_known() -> tuple[str, ...]:
    """Return all releases, or where the package index does not answer those that are installed.

    Raises:
        ReleaseError: It does not answer, and fewer than two are installed.
    """
    try:
        return list_releases()
    except ReleaseError as error:
        installed = tuple(sorted(list_installed(), key=order))
        if len(installed) <= 1:
            raise
        print_note(f"{str(error).partition(chr(10))[0]}; these are installed: {', '.join(installed)}")
        return installed
