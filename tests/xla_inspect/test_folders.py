"""Captures are stored in the system's cache folder, never near the user's files."""

from __future__ import annotations

from pathlib import Path

import pytest

from xla_inspect import folders


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {}, "~/.cache/xla_inspect"),
        ("linux", {"XDG_CACHE_HOME": "~/xdg"}, "~/xdg/xla_inspect"),
        ("darwin", {"XDG_CACHE_HOME": "~/xdg"}, "~/Library/Caches/xla_inspect"),
        ("win32", {"LOCALAPPDATA": "~/Local"}, "~/Local/xla_inspect"),
        ("win32", {}, "~/AppData/Local/xla_inspect"),
        ("linux", {"XLA_INSPECT_CACHE": "~/mine", "XDG_CACHE_HOME": "~/xdg"}, "~/mine"),
    ],
)
def test_the_cache_is_in_the_systems_cache_folder_by_default(
    platform: str,
    environment: dict[str, str],
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name in ("XLA_INSPECT_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(folders.sys, "platform", platform)
    assert folders.find_cache() == Path(expected).expanduser()


def test_a_disabled_cache_has_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_INSPECT_CACHE", "OFF")
    assert folders.find_cache() is None
