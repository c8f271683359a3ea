"""Sums, multiples and maxima of estimated times."""

from __future__ import annotations

import pytest

from xla_inspect.analysis.estimates import Estimate

LEAST, WHOLE = Estimate(1, 2, 3, is_least=True), Estimate(2, 3, 4)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (LEAST + WHOLE, Estimate(3, 5, 7, is_least=True)),
        (WHOLE + LEAST, Estimate(3, 5, 7, is_least=True)),
        (LEAST.longer(WHOLE), Estimate(2, 3, 4, is_least=True)),
        (WHOLE.longer(LEAST), Estimate(2, 3, 4, is_least=True)),
        (LEAST * 2, Estimate(2, 4, 6, is_least=True)),
        (WHOLE * LEAST, Estimate(2, 6, 12, is_least=True)),
        (WHOLE * 2, Estimate(4, 6, 8)),
    ],
)
def test_what_is_computed_from_an_estimate_without_upper_end_has_none(result: Estimate, expected: Estimate) -> None:
    assert result == expected


def test_a_time_may_be_longer_than_an_estimate_without_upper_end() -> None:
    assert [LEAST.may_be(seconds) for seconds in (0.5, 1, 3, 9)] == [False, True, True, True]
    assert [WHOLE.may_be(seconds) for seconds in (1, 2, 4, 5)] == [False, True, True, False]
