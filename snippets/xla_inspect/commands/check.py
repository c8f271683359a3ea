"""`xla-inspect check xla-budget.toml`: whether programs keep their budgets, and who broke them: you or the compiler."""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from xla_inspect.budgets import (
    BudgetReport,
    Checked,
    Record,
    check_budget,
    read_budgets,
    read_records,
    write_records,
)
from xla_inspect.commands import child_process, command_list, question
from xla_inspect.errors import InspectError
from xla_inspect.subject import Request
from xla_inspect.targets import count_devices
from xla_inspect.terminal import print_note

if TYPE_CHECKING:
    from xla_inspect.budgets import Budget

USUAL_FILE = "xla-budget.toml"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the file, and what is done with it."""
    parser.add_argument("file", nargs="?", type=Path, default=Path(USUAL_FILE), help="default: %(default)s")
    how = parser.add_argument_group("what is done")
    how.add_argument("--update", action="store_true", help="record what the programs are compiled to, beside the file")
    how.add_argument("--only", metavar="NAME", default="", help="check this program of the file alone")
    how.add_argument("--load-limit", metavar="S", type=float, default=300.0, help="as of all questions")
    how.add_argument("--debug", action="store_true", help="show the whole traceback of an error")
    how.add_argument("--result", type=Path, help=argparse.SUPPRESS)  # where the process of one program writes
    question.add_forms(parser)


def run_command(options: argparse.Namespace, out: TextIO) -> int:
    """Check the budgets of a file, and return the exit status: 1 where your code breaks one, 4 where the compiler does.

    Raises:
        InspectError: The file, its records, or something in it is not as it should be.
    """
    budgets = read_budgets(options.file)
    if options.only and not (budgets := tuple(each for each in budgets if each.name == options.only)):
        known = ", ".join(each.name for each in read_budgets(options.file))
        message = f"{options.file} has no program {options.only!r}; it has {known}"
        raise InspectError(message)
    place = options.file.with_suffix(".json")
    # Where all are recorded anew, it is no matter what the file holds.
    records = read_records(place, anew=options.update and (bool(options.result) or not options.only))
    if options.result:
        return _run_one(budgets[0], records, options)
    rows: list[Checked] = []
    made: dict[str, Record] = {}
    worst = command_list.OK
    with tempfile.TemporaryDirectory(prefix="xla_inspect_check_") as folder:
        for number, budget in enumerate(budgets):
            status, found = _start(budget, options, Path(folder) / f"{number}.json")
            if status > command_list.CHANGED:  # interrupted
                return status
            worst = max(worst, status)
            rows += [Checked(**row) for row in found.get("rows", ())]
            made |= {key: Record.read(record, key) for key, record in found.get("records", {}).items()}
    if options.update and not worst:
        # Those of programs that the file has no more go with it, unless only one was asked for.
        write_records(place, made, keep=bool(options.only))
    report = BudgetReport(str(options.file), tuple(rows), len(made))
    if rows or not worst:
        question.print_answers([report], str(options.file), options, out)
    return worst or choose_status(report)


def choose_status(report: BudgetReport) -> int:
    """Return the exit status of what came of a check, the weightiest where there are several."""
    if report.list_rows("unknown"):
        return command_list.BAD_INPUT
    broken = report.list_rows("broken")
    if broken and not report.is_of_compiler:
        return command_list.NO
    if report.list_rows("missing"):
        return command_list.MISSING
    return command_list.CHANGED if broken else command_list.OK


def _start(budget: Budget, options: argparse.Namespace, result: Path) -> tuple[int, dict[str, Any]]:
    """Return what a process of its own finds of a program, with its exit status."""
    words = ["check", str(options.file.absolute()), f"--only={budget.name}", f"--result={result}"]
    words += [f"--load-limit={options.load_limit}", *["--update"] * options.update, *["--debug"] * options.debug]
    # Those too that it has to fit.
    targets = [*budget.targets, *(claim.given for claim in budget.claims if claim.name == "fits" and claim.given)]
    asked = argparse.Namespace(subject=[budget.subject], target=targets, load_limit=options.load_limit, debug=False)
    status = child_process.run_apart(words, asked, folder=options.file.absolute().parent)
    if result.is_file():
        return status, json.loads(result.read_text(encoding="utf-8"))
    if status == command_list.OK:
        print_note(f"{budget.name}: its process ended and left no result; does {budget.subject} end Python?")
    return status or command_list.BAD_INPUT, {}


def _run_one(budget: Budget, records: dict[str, Record], options: argparse.Namespace) -> int:
    """Check one program in this process, and write down what is found."""
    request = Request((budget.subject,), devices=max(map(count_devices, budget.targets)), **budget.call)
    subject = question.read_subject(request, options.load_limit)
    subject.is_timed = False
    rows, made = check_budget(budget, subject, records, update=options.update)
    data = {"rows": list(map(asdict, rows)), "records": {key: record.to_json() for key, record in made.items()}}
    options.result.write_text(json.dumps(data), encoding="utf-8")
    return command_list.OK
