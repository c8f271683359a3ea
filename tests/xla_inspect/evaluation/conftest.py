"""One evaluator for all tests of this folder, because the start of its process takes more time than a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from xla_inspect.evaluation import Evaluator

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def evaluator() -> Iterator[Evaluator]:
    """An evaluator with eight simulated devices."""
    with Evaluator(devices=8) as evaluator:
        yield evaluator
