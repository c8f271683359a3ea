"""Another name for a variable makes no difference to the hash of a check."""

from __future__ import annotations

import pytest

from livepage.run import helpers


@pytest.mark.parametrize(
    ("code", "other", "is_same"),
    [
        ("def f(a):\n    return [b + a for b in c]", "def f(x):\n    return [y + x for y in c]", True),
        ("[a for a in p], [a for a in q]", "[a for a in p], [b for b in q]", True),
        ("for a in p:\n    assert a", "for b in p:\n    assert b", True),
        ("lambda a, b: a - b", "lambda b, a: b - a", True),
        ("lambda a, b: a - b", "lambda a, b: b - a", False),
        ("def f(a, b):\n    return a - b\nf(a=1, b=2)", "def f(b, a):\n    return b - a\nf(a=1, b=2)", False),
        ("class A:\n    a: int\n    b: int", "class A:\n    b: int\n    a: int", False),
        ("a = 1\n[a for b in c]", "a = 1\n[b for b in c]", False),
    ],
)
def test_another_name_for_a_variable_makes_no_difference_and_another_variable_does(
    code: str, other: str, *, is_same: bool
) -> None:
    assert (helpers.rename_variables(code) == helpers.rename_variables(other)) is is_same
