"""The command `xla-inspect check`, which reports the budgets of programs that you or the compiler broke."""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from xla_inspect.budgets import BudgetReport, Checked, Record, check_budget, read_budgets, read_records, write_records
from xla_inspect.commands import child_process, command_list, question
from xla_inspect.errors import InspectError
from xla_inspect.subject import Request
from xla_inspect.targets import count_devices
from xla_inspect.terminal import print_note

if TYPE_CHECKING:
    from xla_inspect.budgets import Budget


def run_command(options: argparse.Namespace, out: TextIO) -> int:
    """Check the budgets of a file, print a report, and return the exit status: see `choose_status`.

    With `--update`, the programs are recorded too, unless one of them fails.

    Raises:
        InspectError: The file or its records are invalid, or the file has no program with the name of `--only`.
    """
    budgets = read_budgets(options.file)
    if options.only and not (budgets := tuple(budget for budget in budgets if budget.name == options.only)):
        # The file is read again because the condition has replaced `budgets` with an empty tuple.
        names = ", ".join(budget.name for budget in read_budgets(options.file))
        message = f"{options.file} has no program {options.only!r}; its programs are {names}"
        raise InspectError(message)
    place = options.file.with_suffix(".json")
    # If all programs are recorded again, the old records may be unreadable.
    records = read_records(place, anew=options.update and (bool(options.result) or not options.only))
    # With `--result`, this is the process of a single program, which `_start` began.
    if options.result:
        return _run_one(budgets[0], records, options)
    rows: list[Checked] = []
    new_records: dict[str, Record] = {}
    worst = command_list.OK
    with tempfile.TemporaryDirectory(prefix="xla_inspect_check_") as folder:
        for number, budget in enumerate(budgets):
            status, result = _start(budget, options, Path(folder) / f"{number}.json")
            if status > command_list.CHANGED:  # interrupted
                return status
            # A failure of one program must not hide the results of the others, so the loop goes on.
            worst = max(worst, status)
            rows += [Checked(**row) for row in result.get("rows", ())]
            new_records |= {key: Record.read(record, key) for key, record in result.get("records", {}).items()}
    # After a failure, the records would be incomplete.
    if options.update and not worst:
        # Records of programs that the file no longer has are dropped, unless only one program was checked.
        write_records(place, new_records, keep=bool(options.only))
    report = BudgetReport(str(options.file), tuple(rows), len(new_records))
    # If every program failed, its error was already printed.
    if rows or not worst:
        question.print_answers([report], str(options.file), options, out)
    return worst or choose_status(report)


def choose_status(report: BudgetReport) -> int:
    """Return the exit status of a report; the first in this order if several apply.

    It is 2 if a bound could not be checked, 1 if your code may have broken one, 3 if a target is missing, 4 if only
    the compiler broke bounds, and 0 if all bounds hold.
    """
    # The order is that of severity: an unknown value, the user's change, a missing target, the compiler's change.
    if report.list_rows("unknown"):
        return command_list.BAD_INPUT
    broken = report.list_rows("broken")
    if broken and not report.is_of_compiler:
        return command_list.NO
    if report.list_rows("missing"):
        return command_list.MISSING
    return command_list.CHANGED if broken else command_list.OK


def _start(budget: Budget, options: argparse.Namespace, result: Path) -> tuple[int, dict[str, Any]]:
    """Check a program in a separate process, and return its exit status and its results."""
    # The child process works in the folder of the budget file, where a relative path would be wrong.
    words = ["check", str(options.file.absolute()), f"--only={budget.name}", f"--result={result}"]
    words += [f"--load-limit={options.load_limit}", *["--update"] * options.update, *["--debug"] * options.debug]
    # A budget may also require that the program fits on further targets.
    targets = [*budget.targets, *(claim.given for claim in budget.claims if claim.name == "fits" and claim.given)]
    child_options = argparse.Namespace(
        subject=[budget.subject], target=targets, load_limit=options.load_limit, debug=False
    )
    status = child_process.run_apart(words, child_options, folder=options.file.absolute().parent)
    if result.is_file():
        return status, json.loads(result.read_text(encoding="utf-8"))
    # A file that ends Python with status 0 looks like a success, but there is no result.
    if status == command_list.OK:
        print_note(f"{budget.name}: the process ended without a result; does {budget.subject} end Python?")
    return status or command_list.BAD_INPUT, {}


def _run_one(budget: Budget, records: dict[str, Record], options: argparse.Namespace) -> int:
    """Check one program in this process, and write the result to a file."""
    # One call serves all targets of the budget, so it needs the devices of the largest mesh.
    request = Request((budget.subject,), devices=max(map(count_devices, budget.targets)), **budget.call)
    subject = question.read_subject(request, options.load_limit)
    # Times differ between machines and runs, so no budget depends on them.
    subject.is_timed = False
    rows, new_records = check_budget(budget, subject, records, update=options.update)
    data = {"rows": list(map(asdict, rows)), "records": {key: record.to_json() for key, record in new_records.items()}}
    options.result.write_text(json.dumps(data), encoding="utf-8")
    return command_list.OK
