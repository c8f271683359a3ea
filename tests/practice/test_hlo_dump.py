"""Phase 3: dumps for reading by hand."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from xla_inspect import hlo_dump
from xla_inspect.capture import targets
from xla_inspect.practice import dumped, flags

if TYPE_CHECKING:
    from pathlib import Path


def test_every_dump_is_written_and_named_with_what_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "dump"
    assert hlo_dump.main(["--to", str(folder)]) == 0
    out = capsys.readouterr().out
    names = [path.name for path in folder.iterdir()]
    assert len(names) > 30
    assert f"Compiling this leaves {len(names)} files" in out
    for path in folder.iterdir():
        line = next(line for line in out.splitlines() if path.name in line.split())
        assert line.endswith((f"  {dumped.describe(path).said}", "  likewise"))
    assert f"They lie in {folder}." in out


def test_without_a_folder_nothing_is_kept_and_the_reader_is_told_how(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert hlo_dump.main(["--target", "cpu"]) == 0
    assert list(tmp_path.iterdir()) == []
    assert "uv run python -m xla_inspect.hlo_dump --target cpu --to dump\n" in capsys.readouterr().out


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    for folder in (file, file / "below"):
        assert hlo_dump.main(["--to", str(folder)]) == 1
        said = capsys.readouterr().err
        assert said.startswith(f"xla_inspect.hlo_dump: --to {folder}: cannot write there (")
        assert said.count("\n") == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="who runs as root may write anywhere")
def test_a_folder_of_someone_else_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tmp_path.chmod(0o500)
    assert hlo_dump.main(["--to", str(tmp_path)]) == 1
    assert "cannot write there (Permission denied)" in capsys.readouterr().err
    tmp_path.chmod(0o700)


def test_a_target_whose_compiler_is_not_installed_is_told_with_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = targets.find_version
    monkeypatch.setattr(targets, "find_version", lambda name: None if name == "libtpu" else found(name))
    monkeypatch.setattr(targets.sys, "platform", "linux")
    monkeypatch.setattr(targets.platform, "machine", lambda: "x86_64")
    assert hlo_dump.main(["--target", "tpu-v5e"]) == 1
    assert capsys.readouterr().err == (
        "xla_inspect.hlo_dump: target 'tpu-v5e' is not available here: "
        "libtpu not installed; run `uv sync --group accelerators`\n"
    )


def test_the_readers_flags_are_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flags, "check", lambda: None)
    monkeypatch.setenv("XLA_FLAGS", "--xla_disable_hlo_passes=fusion --xla_dump_hlo_as_proto")
    assert hlo_dump.main([]) == 0
    out = capsys.readouterr().out
    assert "Compiled with your XLA_FLAGS: --xla_disable_hlo_passes=fusion --xla_dump_hlo_as_proto\n" in out
    assert "wrapped_broadcast" in out


def test_dumps_are_not_mixed_with_those_of_another_compile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "module_0000.jit_f.before_optimizations.txt").write_text("", encoding="utf-8")
    assert hlo_dump.main(["--to", str(tmp_path)]) == 1
    assert "it holds dumps already" in capsys.readouterr().err
    assert len(list(tmp_path.iterdir())) == 1


def test_the_division_by_a_constant_is_seen_to_go(capsys: pytest.CaptureFixture[str]) -> None:
    assert hlo_dump.main([]) == 0
    out = capsys.readouterr().out
    before, after = out.split("3.6 Find the constants")[1].split("    after")
    assert "127.5" in before
    assert "inside broadcast_multiply_fusion" in after
    assert "The division is gone: 1 before, 0 after." in after
