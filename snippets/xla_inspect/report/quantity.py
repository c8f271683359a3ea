"""Bytes and counts in few characters."""

from __future__ import annotations

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_STEP = 1024
_ROUND = 100


def size(number: int) -> str:
    """Return a number of bytes in the largest unit that it fills, as in `1.5 MiB`; below 1 KiB it is exact."""
    value, unit = float(number), 0
    while value >= _STEP and unit < len(_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    digits = 0 if value >= _ROUND or value == int(value) else 1
    text = f"{value:.{digits}f}"
    return f"{text.removesuffix('.0')} {_UNITS[unit]}"


def shorten(text: str, length: int) -> str:
    """Return text cut to a number of characters, the last one an ellipsis when something was cut."""
    return text if len(text) <= length else f"{text[: max(length - 1, 1)]}…"
