"""Fixtures of the compilation tests: an empty cache or none, and a count of compilations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from xla_inspect.compilation import compiler_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


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
    """The targets of the compilations, in order."""
    return note(monkeypatch, compiler_run, "compile_lowered", lambda _, __, target, ___: target.name)


def note(patch: pytest.MonkeyPatch, where: object, name: str, say: Callable[..., str]) -> list[str]:
    """Return a list that records each call of a function, which still does its work."""
    calls: list[str] = []
    work = getattr(where, name)

    def noted(*args: object, **options: object) -> object:
        calls.append(say(*args))
        return work(*args, **options)

    patch.setattr(where, name, noted)
    return calls
