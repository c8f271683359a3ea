"""The check of a program against its budget: every bound on every target, and the causes of changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from xla_inspect.budgets.assertion_log import BrokenError
from xla_inspect.budgets.bound import read_bound, show_amount
from xla_inspect.budgets.compiled_program import CompiledProgram
from xla_inspect.budgets.measures import MEASURES
from xla_inspect.errors import InspectError, TargetUnavailableError
from xla_inspect.subject import read_shapes
from xla_inspect.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect.budgets.budget_file import Budget
    from xla_inspect.budgets.budget_record import Record
    from xla_inspect.budgets.claim import Claim
    from xla_inspect.budgets.fingerprint import Blame
    from xla_inspect.subject import Subject

type Outcome = Literal["holds", "broken", "missing", "unknown"]
"""The result of a bound. It is "missing" if this machine cannot compile for the target, and "unknown" if there is no
record to compare with or if the bound refers to something that the program does not have."""

MISSING = "target"
"""The value of `Checked.claim` for a target that this machine cannot compile for."""


@dataclass(frozen=True)
class Checked:
    """The result of checking one bound or assertion of one program on one target.

    Attributes:
        program: The name of the program in the file.
        target: The target, with its grid.
        claim: The bound in few words.
        outcome: The result of the check.
        blame: The cause of the change since the record.
        measured: The measured number in its unit, or an empty string.
        recorded: The recorded number in its unit, or an empty string.
        said: The explanation of any outcome other than "holds"; otherwise an empty string.
    """

    program: str
    target: str
    claim: str
    outcome: Outcome
    blame: Blame
    measured: str = ""
    recorded: str = ""
    said: str = ""


def check_budget(
    budget: Budget, subject: Subject, records: Mapping[str, Record], *, update: bool = False
) -> tuple[list[Checked], dict[str, Record]]:
    """Check the bounds of a program on all of its targets; return the results and, with `update`, new records by key.

    The records are not written to a file.

    Args:
        budget: The bounds of the program.
        subject: The program.
        records: The records by key.
        update: Whether to record the program again; the bounds are then compared with the new record.

    Raises:
        InspectError: Something in the budget does not fit this program.
    """
    rows: list[Checked] = []
    new_records: dict[str, Record] = {}
    for target in budget.targets:
        key = f"{budget.name} {target}"
        try:
            full_target = subject.name_target(target)
            calls = [read_shapes(text) for text in budget.calls]
            program = CompiledProgram(subject, full_target, calls=calls, record=records.get(key))
        except TargetUnavailableError as error:
            rows.append(Checked(budget.name, target, MISSING, "missing", "unrecorded", said=str(error)))
            continue
        if update:
            new_records[key] = program.record = _record(program, key)
        rows += [_check(budget.name, program, claim, record=program.record) for claim in budget.claims]
    return rows, new_records


def _record(program: CompiledProgram, key: str) -> Record:
    try:
        return program.make_record()
    except BrokenError as error:
        message = f"{key} cannot be recorded: {error}"
        raise InspectError(message) from error


def _check(name: str, program: CompiledProgram, claim: Claim, *, record: Record | None) -> Checked:
    outcome: Outcome = "holds"
    explanation = ""
    try:
        _CHECKS.get(claim.name, _hold)(program, claim)
    except BrokenError as error:
        outcome, explanation = "broken", str(error)
    except TargetUnavailableError as error:
        outcome, explanation = "missing", str(error)
    except InspectError as error:
        # The other bounds can still be checked.
        outcome, explanation = "unknown", str(error)
    blame = _find_blame(program, claim, record)
    measured, recorded = _show_numbers(program, claim, record)
    return Checked(
        printable(name), program.target, printable(str(claim)), outcome, blame, measured, recorded, explanation
    )


def _find_blame(program: CompiledProgram, claim: Claim, record: Record | None) -> Blame:
    """Return the cause of a change since the record; "nothing" also if the recorded number violates the bound."""
    if record is None:
        return "unrecorded"
    recorded_number = record.numbers.get(claim.name)
    if claim.name in MEASURES and recorded_number is not None:
        bound = read_bound(claim.given, MEASURES[claim.name].unit, claim.name)
        limit = bound.find_limit(recorded_number)
        # If the recorded number already violated the bound, no change since then can be the cause.
        if limit is not None and not bound.is_kept(recorded_number, limit):
            return "nothing"
    return record.fingerprint.blame(program.fingerprint)


def _show_numbers(program: CompiledProgram, claim: Claim, record: Record | None) -> tuple[str, str]:
    """Return the measured and the recorded number of a bound as text; both are empty for other assertions."""
    if claim.name not in MEASURES:
        return "", ""
    unit = MEASURES[claim.name].unit
    try:
        measured = str(program.measure(claim.name))
    # A program that does not compile has no number, and the check itself already explains the failure.
    except (BrokenError, InspectError):
        measured = ""
    recorded_number = record.numbers.get(claim.name) if record else None
    return measured, "" if recorded_number is None else show_amount(recorded_number, unit)


def _hold(program: CompiledProgram, claim: Claim) -> None:
    program.hold(claim.name, claim.given)


def _hold_traffic(program: CompiledProgram, claim: Claim) -> None:
    bounds: dict[str, Any] = claim.given
    traffic = program.collectives(bounds.get("kind", ""), over=bounds.get("over", ""))
    for key, quantity in (("bytes", traffic.bytes), ("sent", traffic.sent), ("count", traffic.count)):
        if key in bounds:
            program.hold_number(quantity, bounds[key])


_CHECKS: Mapping[str, Callable[[CompiledProgram, Claim], object]] = {
    "donated": lambda program, claim: program.donated(claim.given),
    "in_place": lambda program, claim: program.in_place(claim.given),
    "one_kernel": lambda program, claim: program.one_kernel(*claim.given),
    "apart": lambda program, claim: program.apart(*claim.given),
    "no_copies": lambda program, claim: program.no_copies(larger_than=claim.given),
    "none": lambda program, claim: program.none(**claim.given),
    "fits": lambda program, claim: program.fits(claim.given),
    "collectives": _hold_traffic,
}
"""The functions that assert claims other than bounds on the numbers in `MEASURES`, by the claims' names."""
