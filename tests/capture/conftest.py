"""What the tests of a capture share: compiles that are made once a session, without the reader's cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from xla_inspect import capture_all

if TYPE_CHECKING:
    from xla_inspect import Captures


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_INSPECT_CACHE", "off")


@pytest.fixture(scope="session")
def layers() -> Captures:
    """relu(x @ w + b) for CPU, H100 and TPU v5e."""
    from programs import layer

    # Off for these compiles alone: the tests of other folders that come later use the cache.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XLA_INSPECT_CACHE", "off")
        return capture_all(layer.layer, *layer.EXAMPLE)
