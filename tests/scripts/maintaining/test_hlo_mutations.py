"""Damaged HLO is rejected quickly; `python -m maintaining.hlo_mutations` tries a hundred thousand texts."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from maintaining import hlo_mutations
from maintaining.hlo_mutations import attempt, damage, read_texts

if TYPE_CHECKING:
    import pytest


def test_damaged_texts_are_read_or_refused() -> None:
    trial = attempt(read_texts([]), 1_500, seed=1)
    assert trial.faults == []
    assert 0 < trial.read < trial.count


def test_most_damage_changes_a_text() -> None:
    dice = random.Random(2)  # noqa: S311 - the same each time
    text = "HloModule m\n\nENTRY e {\n  ROOT x = f32[4] parameter(0)\n}\n"
    assert sum(damage(text, dice) != text for _ in range(200)) > 150


def test_another_error_and_a_text_that_takes_long_are_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        raise KeyError(_)

    monkeypatch.setattr(hlo_mutations, "parse_module", fail)
    assert [what.partition(":")[0] for what, _ in attempt(["x"], 3, seed=0).faults] == ["KeyError"] * 3
    monkeypatch.setattr(hlo_mutations, "parse_module", lambda _: None)
    monkeypatch.setattr(hlo_mutations, "PATIENCE", -1)
    assert len(attempt(["x"], 3, seed=0).faults) == 3
