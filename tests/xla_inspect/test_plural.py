"""A number agrees with its noun."""

from __future__ import annotations

import pytest

from xla_inspect.plural import plural


@pytest.mark.parametrize(
    ("number", "noun", "many", "expected"),
    [
        (0, "line", "", "0 lines"),
        (1, "line", "", "1 line"),
        (2000, "line", "", "2,000 lines"),
        (1, "box", "boxes", "1 box"),
        (2, "box", "boxes", "2 boxes"),
    ],
)
def test_a_number_agrees_with_its_noun(number: int, noun: str, many: str, expected: str) -> None:
    assert plural(number, noun, many) == expected
