"""Phase 3: dumps for reading."""

from __future__ import annotations

import platform
import re
import sys
from typing import TYPE_CHECKING

import pytest

from xla_inspect import hlo_dump
from xla_inspect.practice import dump_folder, flags
from xla_inspect.targets import find_version

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended


def test_every_dump_is_written_and_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "dump"
    assert hlo_dump.main(["--to", str(folder)]) == 0
    out = capsys.readouterr().out
    names = [path.name for path in folder.iterdir()]
    assert len(names) > 30
    assert f"Compiling this function writes {len(names)} files" in out
    paths = [path for path in folder.iterdir() if f" {path.name} " in out]
    for path in paths:
        line = next(line for line in out.splitlines() if path.name in line.split())
        assert line.endswith((f"  {dump_folder.describe_dump_file(path).said}", "  (same)"))
    assert len(paths) + sum(map(int, re.findall(r"^    and (\d+) more ", out, re.MULTILINE))) == len(names)
    assert {dump_folder.describe_dump_file(path).sort for path in folder.iterdir()} - {
        dump_folder.describe_dump_file(path).sort for path in paths
    } == set()
    assert f"The files are in {folder}." in " ".join(out.split())


def test_earlier_files_in_the_folder_are_not_mistaken_for_dumps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "before_optimizations.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "notes.md").write_text("mine", encoding="utf-8")
    assert hlo_dump.main(["--to", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert f"Compiling this function writes {len(list(tmp_path.iterdir())) - 2} files" in out
    assert "    before_optimizations.txt " not in out
    assert "notes.md" not in out


@pytest.mark.usefixtures("all_targets")
def test_one_file_of_each_kind_is_named_and_the_rest_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hlo_dump.main(["--target", "h100", "--to", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert out.count("where the pipeline") < 3
    assert len(out.split("3.2 Read it")[0].splitlines()) < 65


def test_the_contents_of_the_users_dump_folder_are_described(tmp_path: Path, run: Callable[..., Ended]) -> None:
    folder = tmp_path / "xla_dump"
    ended = run("hlo_dump", XLA_FLAGS=f"--xla_dump_to={folder}")
    names = [path.name for path in folder.iterdir() if path.is_file()]
    assert ended.status == 0
    assert f"{len(names)} files are in {folder} now:" in " ".join(ended.out.split())
    [after] = [name for name in names if "jit_classify" in name and name.endswith("cpu_after_optimizations.txt")]
    assert f"    {after} " in ended.out


@pytest.mark.usefixtures("all_targets")
@pytest.mark.parametrize("target", ["cpu", "h100", "tpu-v5e"])
def test_each_equation_is_shown_next_to_its_instructions(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert hlo_dump.main(["--target", target]) == 0
    out = capsys.readouterr().out.split("3.7 The jaxpr next to its HLO")[1]
    assert re.search(r"^    r1 = sub pixels, 127\.5 +subtract +add in \w", out, re.MULTILINE)
    output = " ".join(out.split())
    assert "9 equations became 16 instructions; 8 more represent inputs and numbers." in output
    assert "`r5 = add r3, r4` alone has 4." in output


def test_without_a_folder_dumps_are_deleted_and_the_option_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert hlo_dump.main(["--target", "cpu"]) == 0
    assert list(tmp_path.iterdir()) == []
    assert "uv run python -m xla_inspect.hlo_dump --target cpu --to dump\n" in capsys.readouterr().out


def test_an_unwritable_folder_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    for folder in (file, file / "below"):
        assert hlo_dump.main(["--to", str(folder)]) == 1
        error_text = capsys.readouterr().err
        assert error_text.startswith(f"xla_inspect.hlo_dump: --to {folder}: cannot write there (")
        assert error_text.count("\n") == 1


def test_a_target_without_a_compiler_is_reported_with_the_package_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = {name: find_version(name) for name in ("jax", "jaxlib")}
    monkeypatch.setattr("xla_inspect.targets.devices.find_version", installed.get)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    assert hlo_dump.main(["--target", "tpu-v5e"]) == 1
    assert capsys.readouterr().err == (
        "xla_inspect.hlo_dump: target 'tpu-v5e' is not available here: libtpu not installed; run `uv sync`\n"
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
    assert "the folder already contains dumps" in capsys.readouterr().err
    assert len(list(tmp_path.iterdir())) == 1


def test_the_division_by_a_constant_disappears(capsys: pytest.CaptureFixture[str]) -> None:
    assert hlo_dump.main([]) == 0
    out = capsys.readouterr().out
    before, after = out.split("3.6 Find the constants")[1].split("    after")
    assert "127.5" in before
    assert "inside broadcast_multiply_fusion" in after
    assert "The answer is no: 1 division before, and 0 after." in " ".join(after.split())
