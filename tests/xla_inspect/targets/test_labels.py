"""The titles of targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from xla_inspect import InspectError
from xla_inspect.targets.labels import lane, short, title

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("target", "titled", "shortened", "coloured"),
    [
        ("cpu", "CPU", "CPU", "cpu"),
        ("h100", "NVIDIA H100", "H100", "gpu"),
        ("tpu-v5e", "TPU v5e", "TPU v5e", "tpu"),
        ("tpu7x", "TPU7x", "TPU7x", "tpu"),
        ("gpu", "GPU", "GPU", "gpu"),
        ("cpu:8", "CPU x 8", "CPU x 8", "cpu"),
        ("h100:8", "NVIDIA H100 x 8", "H100 x 8", "gpu"),
        ("tpu-v5e:2x4", "TPU v5e 2x4", "v5e 2x4", "tpu"),
    ],
)
def test_a_target_has_a_title_a_short_one_and_a_lane(target: str, titled: str, shortened: str, coloured: str) -> None:
    assert (title(target), short(target), lane(target)) == (titled, shortened, coloured)


@pytest.mark.parametrize("call", [title, short, lane])
def test_an_unknown_target_is_rejected_and_not_treated_as_a_cpu(call: Callable[[str], str]) -> None:
    with pytest.raises(InspectError, match="no target is named 'rtx6000'"):
        call("rtx6000")
