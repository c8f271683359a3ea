"""The low-level code of the layer on five generations of TPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from programs import layer
from xla_inspect import capture_all

if TYPE_CHECKING:
    from xla_inspect.captured import Captures

GENERATIONS = ("tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu7x")


@pytest.fixture(scope="session")
def generations(all_targets: None) -> Captures:  # noqa: ARG001 - a fixture that skips
    """The captures of the layer with low-level code, by target."""
    return capture_all(layer.layer, *layer.EXAMPLE, targets=GENERATIONS, machine=True, passes=False)
