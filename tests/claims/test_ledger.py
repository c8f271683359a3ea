"""The findings of the checks match the declared verdicts, and an error lists every mismatch."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from claims import cards, fusion, ledger
from claims.declared import ClaimError, read_claims
from claims.finding import Verdict
from xla_inspect.errors import TargetUnavailableError

if TYPE_CHECKING:
    from claims.finding import Finding

DECLARED = {claim.id: claim for claim in read_claims()}
CHECKED = [claim for claim in DECLARED.values() if claim.check]


@pytest.fixture(scope="module")
def book(all_targets: None) -> ledger.ClaimLedger:
    """The ledger of all claims with the findings of their checks."""
    del all_targets
    return ledger.judge_claims()


def test_at_least_110_claims_are_decided_by_a_check_that_ran(book: ledger.ClaimLedger) -> None:
    assert book.checked() >= 110
    assert book.checked() + book.unchecked() == len(book.entries) == len(DECLARED)


def test_every_finding_has_evidence(book: ledger.ClaimLedger) -> None:
    silent = [
        entry.claim.id
        for entry in book.entries
        if entry.finding and not all(case.found for case in entry.finding.cases.values())
    ]
    assert silent == []


@pytest.mark.usefixtures("all_targets")
def test_another_verdict_fails_with_the_claim_its_file_and_line() -> None:
    for claim in random.sample(CHECKED, 25):  # others on each run
        others = [verdict for verdict in Verdict if verdict not in {claim.verdict, Verdict.UNTESTED, Verdict.OUTDATED}]
        flipped = replace(claim, verdict=random.choice(others))  # noqa: S311 - a sample, no secret
        where = rf"^docs/data/claims\.toml:{claim.line}: {claim.id}: declared {flipped.verdict}"
        with pytest.raises(ClaimError, match=where):
            ledger.judge_claims([flipped])


@pytest.mark.usefixtures("all_targets")
def test_a_claim_that_holds_in_other_cases_fails_with_its_name() -> None:
    claim = replace(DECLARED["layer-is-one-kernel"], where=("cpu",))
    with pytest.raises(
        ClaimError, match=rf":{claim.line}: layer-is-one-kernel: declared to hold for \['cpu'\].*tpu-v5e.*\(True\)"
    ):
        ledger.judge_claims([claim])


def test_a_check_that_raises_fails_with_the_name_of_its_claim() -> None:
    claim = replace(DECLARED["layer-is-one-kernel"], check="fusion.no_such_check")
    with pytest.raises(ClaimError, match=rf":{claim.line}: {claim.id}: fusion.no_such_check raised AttributeError"):
        ledger.judge_claims([claim])


def test_all_wrong_claims_are_listed_at_once() -> None:
    wrong = [
        replace(DECLARED[name], verdict=Verdict.TRUE, where=())
        for name in ("number-of-operations", "matmul-conv-reduce")
    ]
    with pytest.raises(ClaimError, match=r"(?s)number-of-operations: declared true.*matmul-conv-reduce: declared true"):
        ledger.judge_claims(wrong)


def test_a_missing_target_is_a_gap_and_not_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def unavailable() -> Finding:
        target, reason = "tpu-v5e", "libtpu is <not> installed"
        raise TargetUnavailableError(target, reason)

    monkeypatch.setattr(fusion, "layer_is_one_kernel", unavailable)
    book = ledger.judge_claims([DECLARED["layer-is-one-kernel"]])
    assert (book.checked(), book.unchecked()) == (0, 0)
    html = cards.cards(book.entries)
    assert "Not run here: libtpu is &#60;not&#62; installed" in html
    assert "depends on target" in html


def test_checks_give_the_same_verdict_when_they_run_again(book: ledger.ClaimLedger) -> None:
    chosen = [claim for claim in CHECKED if claim.check.startswith(("running.", "tools.", "jaxpr."))]
    again = ledger.judge_claims(chosen)
    before = {entry.claim.id: entry.verdict for entry in book.entries}
    assert {entry.claim.id: entry.verdict for entry in again.entries} == {
        claim.id: before[claim.id] for claim in chosen
    }


def test_a_claim_without_its_target_has_a_gap_and_no_finding() -> None:
    claim = DECLARED["layer-is-one-kernel"]
    missing = ledger.Entry(claim, missing=TargetUnavailableError("h100", "install it"))
    with pytest.raises(TargetUnavailableError, match="install it"):
        ledger.ClaimLedger((missing,)).find(claim.id)
    with pytest.raises(ClaimError, match="no check decides a claim 'layer-is-one-kernel'"):
        ledger.ClaimLedger(()).find(claim.id)
