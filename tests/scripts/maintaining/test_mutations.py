"""The trial that falsifies pages notices false sentences, and reports unnoticed ones."""

from __future__ import annotations

import random

import pytest

from common import ROOT
from maintaining import mutations

HOME = ROOT / "docs" / "index.md"


# Where a target is missing, a value that needs it is a gap, whatever it says.
@pytest.mark.long("each falsehood runs a page or a check")
@pytest.mark.usefixtures("all_targets")
def test_every_falsehood_on_the_home_page_is_noticed() -> None:
    source, source_shown = mutations.read_pieces(HOME)
    falsehoods = list(mutations.list_mutations(HOME, source, source_shown, random.Random(0)))  # noqa: S311 - a sample, no secret
    kinds = {mutation.what.split()[0].rstrip(":") for mutation in falsehoods}
    assert {"assert", "value"} <= kinds
    assert [mutation.what for mutation in falsehoods if not mutation.is_noticed(source)] == []


def test_a_change_that_alters_nothing_is_not_noticed() -> None:
    source, _ = mutations.read_pieces(HOME)
    same = mutations.Mutation(HOME, 1, "nothing", 0, source.pieces[0].code)
    assert not same.is_noticed(source)
