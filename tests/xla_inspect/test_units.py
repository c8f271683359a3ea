"""Short texts for sizes, which keep the exact number of bytes."""

from __future__ import annotations

import pytest

from xla_inspect.units import (
    format_amount,
    format_bytes,
    format_duration,
    format_runs,
    format_seconds,
    format_share,
    size,
)


@pytest.mark.parametrize(
    ("number", "expected", "exact"),
    [
        (0, "0 B", "0 bytes"),
        (1, "1 B", "1 byte"),
        (65536, "64 KiB", "65,536 bytes"),
        (1536, "1.5 KiB", "1,536 bytes"),
        (1023, "1023 B", "1,023 bytes"),
        ((1 << 20) - 1, "1 MiB", "1,048,575 bytes"),
        ((1 << 20) - 600, "1023 KiB", "1,047,976 bytes"),
        (11_999_999, "11.4 MiB", "11,999,999 bytes"),
        (1 << 50, "1024 TiB", f"{1 << 50:,} bytes"),
    ],
)
def test_a_size_is_short_and_keeps_its_exact_bytes(number: int, expected: str, exact: str) -> None:
    assert (size(number), size(number).exact) == (expected, exact)
    assert size(number) == format_bytes(number)


@pytest.mark.parametrize(
    ("share", "digits", "expected"),
    [
        (0.0, 0, "0%"),
        (1e-12, 0, "<1%"),
        (0.5, 0, "50%"),
        (0.999, 0, ">99%"),
        (1.0, 0, "100%"),
        (1 - 1e-15, 0, "100%"),
        (0.0004, 1, "<0.1%"),
        (0.9996, 1, ">99.9%"),
        (1.25, 0, "125%"),
    ],
)
def test_only_zero_is_0_percent_and_only_the_whole_is_100_percent(share: float, digits: int, expected: str) -> None:
    assert format_share(share, digits) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.0, "0"),
        (1.2e-12, "1.2 ps"),
        (4.1e-10, "410 ps"),
        (9.8e-8, "98 ns"),
        (9.96e-8, "100 ns"),
        (1.27e-7, "0.13 µs"),
        (9.96e-5, "100 µs"),
        (0.0123, "12 ms"),
        (0.0996, "100 ms"),
        (1.84, "1.8 s"),
    ],
)
def test_a_short_time_is_not_0_and_no_time_has_an_exponent(seconds: float, expected: str) -> None:
    assert format_duration(seconds) == expected


def test_an_amount_that_rounds_up_to_a_thousand_takes_the_next_prefix() -> None:
    amounts = {0.25: "0.25", 999.7: "1 k", 999_400: "999 k", 999_600: "1 M", 3.35e12: "3.35 T"}
    assert {number: format_amount(number) for number in amounts} == amounts


def test_a_time_that_rounds_up_to_the_next_unit_is_shown_in_it() -> None:
    assert [format_seconds(seconds) for seconds in (9.999e-7, 9.99e-7, 0.9996)] == ["1 µs", "999 ns", "1 s"]


def test_runs_in_a_loop_of_unknown_length_show_how_often_they_run_in_one_iteration() -> None:
    assert [format_runs(*runs) for runs in ((1024, 1024), (None, 1), (None, 16))] == ["1,024", "?", "16 x ?"]
