"""Functions that format bytes, counts, times and shares as short texts, and that shorten texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

_PREFIXES = (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_COUNTS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_STEP = 1024
_TIMES = (("ms", 1e-3), ("µs", 1e-7), ("ns", 1e-9), ("ps", 1e-12))
_SECONDS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9), ("ps", 1e-12))
_ROUND = 100
_ROUNDING = 1e-9
_ROUNDED_UP = 0.9995  # the least number that three digits write as 1


class Size(str):
    """A number of bytes as text for prose, with the exact number as an attribute.

    Attributes:
        exact: The exact number, as in `65,536 bytes`.
    """

    __slots__ = ("exact",)
    exact: str

    def __new__(cls, number: int) -> Self:
        """Return a number of bytes in the form of `format_bytes`."""
        text = super().__new__(cls, format_bytes(number))
        text.exact = f"{number:,} {'byte' if number == 1 else 'bytes'}"
        return text


def size(number: int) -> Size:
    """Return a number of bytes for prose, as in `64 KiB`. A page shows the exact number on hover and focus."""
    return Size(number)


def format_bytes(number: int) -> str:
    """Return a number of bytes in the largest unit that it reaches, as in `1.5 MiB`. Below 1 KiB, it is exact."""
    value, unit = float(number), 0
    while value >= _STEP - 0.5 and unit < len(_UNITS) - 1:  # what rounds up to 1,024 is 1 of the next unit
        value, unit = value / _STEP, unit + 1
    digits = 0 if value >= _ROUND or value == int(value) else 1
    text = f"{value:.{digits}f}"
    return f"{text.removesuffix('.0')} {_UNITS[unit]}"


def format_amount(number: float) -> str:
    """Return a number as text with a metric prefix and at most three digits, as in `4.19 M`, without a unit."""
    for prefix, least in _PREFIXES:
        if number >= _ROUNDED_UP * least:
            return f"{number / least:.3g} {prefix}"
    return f"{number:.3g}"


def format_runs(runs: int | None, counted: int) -> str:
    """Return a number of runs as text, as in `1,024`, or as in `16 x ?` if a loop or branch has an unknown number.

    Args:
        runs: The number, or None if it is unknown.
        counted: The number if each loop or branch with an unknown number runs once.
    """
    if runs is not None:
        return f"{runs:,}"
    return "?" if counted == 1 else f"{counted:,} x ?"


def format_duration(seconds: float) -> str:
    """Return a time with its unit, as in `0.13 µs` and `250 ms`, rounded to two digits or, from 100 on, to an integer.

    Seconds have one decimal, and a time of 0 is `0`.
    """
    if not seconds:
        return "0"
    if seconds >= 1:
        return f"{seconds:.1f} s"
    unit, least = next((unit for unit in _TIMES if seconds >= unit[1]), _TIMES[-1])
    # A microsecond is the unit from 0.1 µs on, so its threshold differs from its size.
    value = seconds / (1e-6 if unit == "µs" else least)
    return f"{value:.0f} {unit}" if value >= _ROUND - 0.5 else f"{value:.2g} {unit}"


def format_seconds(seconds: float) -> str:
    """Return a time with three digits in the largest unit that it reaches, as in `1.25 ms` and `176 µs`."""
    if not seconds:
        return "0"
    # A time below the smallest unit is shown in this unit.
    unit, least = next((unit for unit in _SECONDS if seconds >= _ROUNDED_UP * unit[1]), _SECONDS[-1])
    number = seconds / least
    return f"{number:,.0f} {unit}" if number >= _ROUND else f"{number:.3g} {unit}"


def format_share(share: float, digits: int = 0) -> str:
    """Return a share from 0 to 1 as a percentage, such as `12%`; a share near 0 or 1 becomes `<1%` or `>99%`."""
    step = 10.0 ** -(digits + 2)
    # Rounding would show a small share as 0%, which would look like none.
    if 0 < share < step:
        return f"<{step:.{digits}%}"
    # The sum of the parts of a whole may be a few units in the last place below 1.
    return f">{1 - step:.{digits}%}" if 1 - step < share < 1 - _ROUNDING else f"{share:.{digits}%}"


def in_words(number: int) -> str:
    """Return a count as a word, such as `four`, or in digits if it is above twelve or negative."""
    return _COUNTS[number] if 0 <= number < len(_COUNTS) else f"{number:,}"


def shorten(text: str, length: int) -> str:
    """Return text cut to a number of characters. An ellipsis replaces the rest."""
    return text if len(text) <= length else f"{text[: max(length - 1, 1)]}…"


def shorten_front(text: str, length: int) -> str:
    """Return text cut to a number of characters. An ellipsis replaces its start, since paths differ at their ends."""
    return text if len(text) <= length else f"…{text[1 - length :]}"
