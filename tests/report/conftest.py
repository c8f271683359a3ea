"""One small program, captured once for the tests of its views."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from programs import layer
from xla_inspect import capture_all

if TYPE_CHECKING:
    from xla_inspect.hlo.record import Captures


@pytest.fixture(scope="session")
def captures() -> Captures:
    """relu(x @ w + b) on the three targets that pages show."""
    return capture_all(layer.layer, *layer.EXAMPLE)
