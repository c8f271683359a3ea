"""The rule that turns what a check found into a verdict."""

from __future__ import annotations

import pytest

from claims.finding import Verdict, answers, cases, only

HOLDS, FAILS = True, False
YES, NO = (HOLDS, "seen"), (FAILS, "not seen")


@pytest.mark.parametrize(
    ("finding", "verdict"),
    [
        (only(HOLDS, "seen"), Verdict.TRUE),
        (only(FAILS, "not seen"), Verdict.FALSE),
        (only(HOLDS, "seen").but(HOLDS, "seen too"), Verdict.TRUE),
        (only(HOLDS, "seen").but(FAILS, "not that"), Verdict.MISLEADING),
        (only(FAILS, "not seen").but(FAILS, "nor that"), Verdict.FALSE),
        (cases({"cpu": YES, "h100": YES}), Verdict.TRUE),
        (cases({"cpu": NO, "h100": NO}), Verdict.FALSE),
        (cases({"cpu": YES, "h100": NO}), Verdict.BY_TARGET),
        (cases({"cpu, int32": YES, "cpu, float32": NO}), Verdict.BY_TARGET),
        (cases({"before": YES, "after": NO}), Verdict.BY_CASE),
        (cases({"cpu": YES, "h100": NO}).but(FAILS, "not that"), Verdict.BY_TARGET),
        (answers({"cpu": "2", "h100": "2"}), Verdict.TRUE),
        (answers({"cpu": "2", "h100": "3"}), Verdict.BY_TARGET),
    ],
)
def test_the_verdict_follows_from_the_cases(finding: object, verdict: Verdict) -> None:
    assert finding.judge(once=False) == verdict  # type: ignore[attr-defined]  # each is a finding


def test_a_claim_that_held_once_is_outdated_when_it_holds_no_more() -> None:
    assert only(FAILS, "gone").judge(once=True) == Verdict.OUTDATED
    assert only(HOLDS, "there").judge(once=True) == Verdict.TRUE


def test_a_check_that_looks_at_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at one case at least"):
        cases({}).judge(once=False)
