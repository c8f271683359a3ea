"""What the tests of a capture share: compiles that are made once a session, without the reader's cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from xla_inspect import capture_all
from xla_inspect.capture import pipeline

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from xla_inspect import Captures


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_INSPECT_CACHE", "off")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an empty cache."""
    monkeypatch.setenv("XLA_INSPECT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def compiles(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The targets compiled for, in order."""
    return note(monkeypatch, pipeline, "compile_lowered", lambda _, __, target, ___: target.name)


def note(patch: pytest.MonkeyPatch, where: object, name: str, say: Callable[..., str]) -> list[str]:
    """Return what is said of each call of a function, which goes on to do its work."""
    seen: list[str] = []
    work = getattr(where, name)

    def noted(*args: object) -> object:
        seen.append(say(*args))
        return work(*args)

    patch.setattr(where, name, noted)
    return seen


@pytest.fixture(scope="session")
def layers() -> Captures:
    """relu(x @ w + b) for CPU, H100 and TPU v5e."""
    from programs import layer

    # Off for these compiles alone: the tests of other folders that come later use the cache.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XLA_INSPECT_CACHE", "off")
        return capture_all(layer.layer, *layer.EXAMPLE)
