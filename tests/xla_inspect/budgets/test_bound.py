"""Bounds from numbers and text; an invalid bound is rejected with an example."""

from __future__ import annotations

import numpy as np
import pytest

from xla_inspect.budgets.bound import Bound, read_amount, read_bound, show_amount
from xla_inspect.errors import InspectError


@pytest.mark.parametrize(
    ("amount", "unit", "number"),
    [
        ("9 GiB", "bytes", 9 * 2**30),
        ("1.5MiB", "bytes", 1.5 * 2**20),
        ("64 kB", "bytes", 64_000),
        ("1,024 B", "bytes", 1024),
        (512, "bytes", 512),
        (np.int64(7), "", 7),
        ("14", "", 14),
        ("1.5 G", "flops", 1.5e9),
        ("2e3", "flops", 2000),
        ("10 s", "seconds", 10),
        ("1.5 ms", "seconds", 1.5e-3),
        ("20 µs", "seconds", 20e-6),
        ("20us", "seconds", 20e-6),
        (0.5, "seconds", 0.5),
    ],
)
def test_an_amount_is_a_number_or_text_with_a_unit(amount: object, unit: str, number: float) -> None:
    assert read_amount(amount, unit) == pytest.approx(number, rel=1e-12)


@pytest.mark.parametrize(
    ("amount", "unit", "message"),
    [
        ("9 GB1", "bytes", "not a number with a unit"),
        ("9 GIB", "bytes", "'GIB' is not a unit of bytes, did you mean 'GiB'?"),
        ("9", "bytes", "has no unit; add a unit of bytes, as in 9 MiB"),
        ("9 GiB", "", "'GiB' is not a unit of a count"),
        ("9", "seconds", "has no unit; add a unit of seconds, as in 9 ms"),
        ("9 min", "seconds", "'min' is not a unit of seconds"),
        ("", "bytes", "write a number such as '9 GiB'"),
        (True, "", "must be a number or text such as 14, not True"),
        (None, "bytes", "must be a number or text such as '9 GiB', not None"),
        (float("nan"), "bytes", "is not a finite number"),
        (float("-inf"), "", "is not a finite number"),
        ("1" + "0" * 400, "", "is not a finite number"),
        ("-3", "", "is not a number with a unit"),
    ],
)
def test_an_invalid_amount_is_rejected_with_a_valid_example(amount: object, unit: str, message: str) -> None:
    with pytest.raises(InspectError) as raised:
        read_amount(amount, unit, "peak")
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("text", "unit", "bound"),
    [
        ("<= 14", "", Bound("<=", 14)),
        ("<9 GiB", "bytes", Bound("<", 9 * 2**30)),
        (14, "", Bound("<=", 14)),
        ("== 0", "", Bound("==", 0)),
        ("recorded", "bytes", Bound("<=", None)),
        ("recorded + 5 %", "bytes", Bound("<=", None, share=0.05)),
        ("== recorded", "", Bound("==", None)),
        ("recorded + 64 MiB", "bytes", Bound("<=", None, slack=64 * 2**20)),
    ],
)
def test_a_bound_is_an_upper_limit_by_default(text: object, unit: str, bound: Bound) -> None:
    assert read_bound(text, unit, "peak") == bound


@pytest.mark.parametrize("bound", ["recorded - 5 %", "~ 3", "<> 3", "recorded + much", [3], "=< 3"])
def test_an_invalid_bound_is_rejected(bound: object) -> None:
    with pytest.raises(InspectError, match="kernels"):
        read_bound(bound, "", "kernels")


def test_a_recorded_value_is_a_limit_only_if_it_exists() -> None:
    bound = read_bound("recorded + 10 %", "bytes", "peak")
    assert (bound.find_limit(None), bound.find_limit(100.0)) == (None, pytest.approx(110.0))
    assert [bound.is_kept(measured, 110.0) for measured in (110, 111)] == [True, False]


def test_an_amount_is_shown_in_its_unit() -> None:
    texts = [show_amount(2**20, "bytes"), show_amount(-2048, "bytes"), show_amount(1.5e9, "flops"), show_amount(14, "")]
    assert texts == ["1 MiB", "-2 KiB", "1.5 G flops", "14"]
