"""The rule that turns the finding of a check into a verdict."""

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


def test_a_claim_that_held_in_an_earlier_release_is_outdated() -> None:
    assert only(FAILS, "gone").judge(once=True) == Verdict.OUTDATED
    assert only(HOLDS, "there").judge(once=True) == Verdict.TRUE


def test_a_check_without_cases_fails() -> None:
    with pytest.raises(ValueError, match="at least one case"):
        cases({}).judge(once=False)
