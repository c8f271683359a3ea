"""The kinds of changes to try are parsed in the same way for every question."""

from __future__ import annotations

import pytest

from xla_inspect.errors import InspectError
from xla_inspect.subject import KINDS, read_kinds


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("remat,donate", ("remat", "donate")),
        (" remat , donate ", ("remat", "donate")),
        ("remat,,donate,", ("remat", "donate")),
        ("all", KINDS),
        ("", ()),
        (None, ()),
    ],
)
def test_kinds_are_separated_by_commas_with_optional_blanks(text: str | None, kinds: tuple[str, ...]) -> None:
    assert read_kinds(text, known=KINDS) == kinds


def test_an_unknown_kind_is_rejected_with_the_known_ones() -> None:
    with pytest.raises(InspectError) as caught:
        read_kinds("remat, donat", known=KINDS)
    assert str(caught.value).startswith("--try remat, donat: there is no 'donat' to try, only ")
    assert all(kind in str(caught.value) for kind in KINDS)
