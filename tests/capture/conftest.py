"""What the tests of a capture share: compiles that are made once a session, without the reader's cache."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from xla_inspect import capture_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect import Captures


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_INSPECT_CACHE", "off")


@pytest.fixture(scope="session")
def layers() -> Iterator[Captures]:
    """relu(x @ w + b) for CPU, H100 and TPU v5e."""
    from programs import layer

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "XLA_INSPECT_CACHE", "off")
        yield capture_all(layer.layer, *layer.EXAMPLE)
