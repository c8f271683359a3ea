"""The trial that falsifies pages notices what it must, and says so where nothing would."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from common import ROOT
from maintaining import mutations, word_mutations

HOME = ROOT / "docs" / "index.md"


# Where a target is missing, a value that needs it is a gap, whatever it says.
@pytest.mark.usefixtures("all_targets")
def test_every_falsehood_on_the_home_page_is_noticed() -> None:
    source, shown = mutations.read(HOME)
    found = list(mutations.list_mutations(HOME, source, shown, random.Random(0)))  # noqa: S311 - a sample, no secret
    kinds = {mutation.what.split()[0].rstrip(":") for mutation in found}
    assert {"assert", "value"} <= kinds
    assert [mutation.what for mutation in found if not mutation.is_noticed(source)] == []


def test_a_change_that_alters_nothing_is_not_noticed() -> None:
    source, _ = mutations.read(HOME)
    same = mutations.Mutation(HOME, 1, "nothing", 0, source.pieces[0].code)
    assert not same.is_noticed(source)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("page.md", "The CPU makes four kernels.\n\n```text\nfour\n```\n", {(1, "CPU"), (1, "four"), (1, "kernels")}),
        (
            "page.md",
            '```python exec="on"\nx = "cpu"\nprint("the largest first")\n```\n',
            {(3, "largest"), (3, "first")},
        ),
        ("notebook.py", "# %%\nfour = 4\n# %% [markdown]\n# Only four.\n", {(4, "Only"), (4, "four")}),
        ("table.toml", '[A01]\ncheck = "all.of"\ntruth = "Only on the TPU."\n', {(3, "Only"), (3, "TPU")}),
    ],
)
def test_the_words_of_prose_labels_and_tables_are_exchanged(
    name: str, text: str, expected: set[tuple[int, str]]
) -> None:
    found = list(word_mutations.list_changes(Path(name), text, random.Random(0)))  # noqa: S311 - a sample, no secret
    assert {(line, what.partition(" became ")[0]) for line, what, _ in found} == expected
    assert [changed for _, _, changed in found if changed == text] == []
