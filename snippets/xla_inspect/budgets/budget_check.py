"""Whether a program keeps its budget: each of its bounds on each target, and who broke those that are broken."""

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
"""Whether a bound holds, is broken, has no compiler for its target here, or is not known: nothing was recorded that it
could be compared with, or it names what the program does not have."""

MISSING = "target"
"""What stands for a claim where the target is missing."""


@dataclass(frozen=True)
class Checked:
    """One bound of one program on one target.

    Attributes:
        program: What the file calls the program.
        target: The target, with its grid.
        claim: The bound in few words.
        outcome: What came of it.
        blame: Who changed since the record.
        measured: What was measured, in its unit, or an empty string.
        recorded: What was recorded of that, likewise.
        said: What is to be said where it does not hold.
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
    """Return the bounds of a program on all of its targets, and what is to be recorded of it, by key.

    Args:
        budget: Its bounds.
        subject: The program.
        records: What was recorded, by key.
        update: Whether it is recorded anew; then it is held against the new record.

    Raises:
        InspectError: Something in the budget is not of this program.
    """
    rows: list[Checked] = []
    made: dict[str, Record] = {}
    for target in budget.targets:
        key = f"{budget.name} {target}"
        try:
            named = subject.name_target(target)
            calls = [read_shapes(text) for text in budget.calls]
            program = CompiledProgram(subject, named, calls=calls, record=records.get(key))
        except TargetUnavailableError as error:
            rows.append(Checked(budget.name, target, MISSING, "missing", "unrecorded", said=str(error)))
            continue
        if update:
            made[key] = program.record = _record(program, key)
        rows += [_check(budget.name, program, claim, record=program.record) for claim in budget.claims]
    return rows, made


def _record(program: CompiledProgram, key: str) -> Record:
    try:
        return program.make_record()
    except BrokenError as error:
        message = f"{key} cannot be recorded: {error}"
        raise InspectError(message) from error


def _check(name: str, program: CompiledProgram, claim: Claim, *, record: Record | None) -> Checked:
    outcome: Outcome = "holds"
    said = ""
    try:
        _CHECKS.get(claim.name, _hold)(program, claim)
    except BrokenError as error:
        outcome, said = "broken", str(error)
    except TargetUnavailableError as error:
        outcome, said = "missing", str(error)
    except InspectError as error:
        # The other bounds are checked all the same.
        outcome, said = "unknown", str(error)
    blame = _find_blame(program, claim, record)
    measured, recorded = _show_numbers(program, claim, record)
    return Checked(printable(name), program.target, printable(str(claim)), outcome, blame, measured, recorded, said)


def _find_blame(program: CompiledProgram, claim: Claim, record: Record | None) -> Blame:
    """Return who changed since the record, nobody where what is asserted did not hold then either."""
    if record is None:
        return "unrecorded"
    known = record.numbers.get(claim.name)
    if claim.name in MEASURES and known is not None:
        bound = read_bound(claim.given, MEASURES[claim.name].unit, claim.name)
        limit = bound.find_limit(known)
        if limit is not None and not bound.is_kept(known, limit):
            return "nothing"
    return record.fingerprint.blame(program.fingerprint)


def _show_numbers(program: CompiledProgram, claim: Claim, record: Record | None) -> tuple[str, str]:
    """Return what was measured and recorded of the number that a bound is of, empty for other assertions."""
    if claim.name not in MEASURES:
        return "", ""
    unit = MEASURES[claim.name].unit
    try:
        measured = show_amount(program.measure(claim.name).number, unit)
    except BrokenError:
        measured = ""
    known = record.numbers.get(claim.name) if record else None
    return measured, "" if known is None else show_amount(known, unit)


def _hold(program: CompiledProgram, claim: Claim) -> None:
    program.hold(claim.name, claim.given)


def _hold_traffic(program: CompiledProgram, claim: Claim) -> None:
    given: dict[str, Any] = claim.given
    traffic = program.collectives(given.get("kind", ""), over=given.get("over", ""))
    for key, quantity in (("bytes", traffic.bytes), ("sent", traffic.sent), ("count", traffic.count)):
        if key in given:
            program.hold_number(quantity, given[key])


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
"""What holds an assertion that is no bound on a number."""
