"""Each low-level step of libtpu has a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.analysis.bundles import find_step, read_below

if TYPE_CHECKING:
    from xla_inspect.captured import Captures


def test_every_step_of_every_generation_is_known(generations: Captures) -> None:
    steps = {
        stage.name
        for generation in generations.values()
        for kernel in read_below(generation)
        for stage in kernel.stages
    }
    assert len(steps) > 50
    assert {name for name in steps if find_step(name) is None} == set()


def test_a_repeated_step_has_the_same_sentence() -> None:
    assert find_step("post-GVN") is find_step("post-GVN-3") is not None
    assert find_step("post-mystery") is None
