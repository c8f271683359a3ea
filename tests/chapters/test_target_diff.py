"""Differences between neighboring targets, counted by kind of launch and by pass."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from chapters.target_diff import compare_targets, count_kinds
from programs import layer as program
from xla_inspect import Captures, capture_all
from xla_inspect.analysis import list_launches

pytestmark = pytest.mark.usefixtures("all_targets")


@pytest.fixture(scope="module")
def layers() -> Captures:
    return capture_all(program.layer, *program.EXAMPLE, targets=("a100", "h100", "h200"))


def test_launches_and_passes_that_come_and_go_are_counted(layers: Captures) -> None:
    step = compare_targets(layers["a100"], layers["h100"])
    assert (step.launches_gone, step.launches_new) == (Counter(), Counter({"kLoop": 1}))
    assert step.passes_new["splitk-rewriter"] == 1
    back = compare_targets(layers["h100"], layers["a100"])
    assert (back.launches_gone, back.launches_new) == (step.launches_new, step.launches_gone)
    assert (back.passes_gone, back.passes_new) == (step.passes_new, step.passes_gone)
    assert (step.has_other_launches, step.has_other_passes, step.is_regridded) == (True, True, False)


def test_the_same_outcome_is_no_step(layers: Captures) -> None:
    step = compare_targets(layers["h100"], layers["h200"])
    assert (step.has_other_launches, step.has_other_passes, step.is_regridded) == (False, False, False)


def test_the_same_launches_with_another_grid_differ_in_size(layers: Captures) -> None:
    old = layers["h100"]
    new = replace(old, thunks=(replace(old.thunks[0], grid=(1, 1, 1)), *old.thunks[1:]))
    assert compare_targets(old, new).is_regridded
    assert count_kinds(list_launches(old)) == count_kinds(list_launches(new)) == Counter({"kCustom": 1, "kLoop": 1})
