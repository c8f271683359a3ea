"""Bytes in few characters, which know how many they are."""

from __future__ import annotations

import pytest

from xla_inspect.units import format_bytes, size


@pytest.mark.parametrize(
    ("number", "shown", "exact"),
    [(0, "0 B", "0 bytes"), (1, "1 B", "1 byte"), (65536, "64 KiB", "65,536 bytes"), (1536, "1.5 KiB", "1,536 bytes")],
)
def test_a_size_is_what_prose_says_and_knows_its_bytes(number: int, shown: str, exact: str) -> None:
    assert (size(number), size(number).exact) == (shown, exact)
    assert size(number) == format_bytes(number)
