"""Low-level code of a capture round-trips through its storage."""

from __future__ import annotations

import json

import jax.numpy as jnp
import pytest

from xla_inspect import capture
from xla_inspect.captured import Capture, LowLevel, LowStage, pack, read_low_level, unpack, write_low_level

KERNELS = (
    LowLevel(
        "fusion.1",
        ("fusion.1", "fusion.2"),
        "0 : { }\n",
        "",
        "total",
        "New",
        (LowStage("original", 12, None, None), LowStage("final_bundles", None, 4, is_changed=True)),
    ),
    LowLevel("TLP", (), "", "", "", ""),
)


def test_kernels_are_read_as_they_were_written() -> None:
    assert read_low_level(json.loads(json.dumps(write_low_level(KERNELS)))) == KERNELS


@pytest.mark.usefixtures("all_targets")
def test_a_capture_keeps_its_kernels_in_each_form_that_it_is_stored_in() -> None:
    with_kernels = capture(jnp.sin, jnp.ones(8), target="cpu").retold(low_level=KERNELS)
    assert Capture.from_json(with_kernels.to_json()).low_level == KERNELS
    restored = unpack(pack(with_kernels))
    assert "low_level" not in vars(restored)
    assert restored.low_level == KERNELS
