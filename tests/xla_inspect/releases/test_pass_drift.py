"""A renamed pass is distinguished from a new one."""

from __future__ import annotations

import pytest

from xla_inspect.releases.pass_drift import PassDrift, compare_passes


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (["a", "fuse_all", "b"], ["a", "fuse-all", "b"], PassDrift((("fuse_all", "fuse-all"),), (), ())),
        (["a", "TpuLayout", "b"], ["b", "a", "tpu-layout"], PassDrift((("TpuLayout", "tpu-layout"),), (), ())),
        (
            ["a", "gather-expander", "b"],
            ["a", "gather-expander-2", "b"],
            PassDrift((("gather-expander", "gather-expander-2"),), (), ()),
        ),
        # Alike, but at another place: that is another pass.
        (
            ["gather-expander", "a", "b", "c"],
            ["a", "b", "c", "gather-expander-2"],
            PassDrift((), ("gather-expander-2",), ("gather-expander",)),
        ),
        (["a", "autotuner", "b"], ["a", "copy-fusion", "b"], PassDrift((), ("copy-fusion",), ("autotuner",))),
    ],
)
def test_a_pass_with_a_similar_name_at_the_same_place_is_a_renamed_pass(
    old: list[str], new: list[str], expected: PassDrift
) -> None:
    assert compare_passes(old, new) == expected
