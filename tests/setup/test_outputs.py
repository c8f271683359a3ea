"""What every program compiles to on every target is what the files under tests/expected say."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import outputs

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(outputs.EXPECTED.glob("*/*.txt"))
TARGETS_REQUIRED = os.environ.get("REQUIRE_TARGETS") == "all"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_program_compiles_to_what_is_expected(path: Path) -> None:
    program, target = path.parent.name, path.stem
    if reason := outputs.find_obstacle(target):
        (pytest.fail if TARGETS_REQUIRED else pytest.skip)(f"{target}: {reason}")
    if program not in outputs.list_programs():
        pytest.fail(f"{path.relative_to(ROOT)}: no program makes it; `scripts/update` removes it", pytrace=False)
    if difference := outputs.compare(program, target, path.read_text(encoding="utf-8"), outputs.make(program, target)):
        pytest.fail(f"{difference}\n{outputs.advise([program])}", pytrace=False)


def test_every_program_with_something_to_compile_has_a_file_for_each_target() -> None:
    programs = outputs.list_programs()
    wanted = {outputs.locate(program, target) for program in programs for target in outputs.list_targets(program)}
    missing = sorted(path.relative_to(ROOT).as_posix() for path in wanted - set(FILES))
    assert missing == [], "`scripts/update` writes them"


def test_no_file_is_left_of_a_program_that_is_gone() -> None:
    assert outputs.find_stale() == []


def test_a_program_of_the_gallery_is_compiled_for_all_of_its_targets() -> None:
    assert outputs.list_targets("softmax") == list(outputs.targets.TARGETS)
    assert outputs.list_targets("product") == ["cpu", "h100", "tpu-v5e"]


def test_what_a_target_refuses_is_said_in_its_words() -> None:
    [parallel] = [member for member in outputs.list_members("gallery") if member.name == "parallel"]
    if reason := outputs.find_obstacle("tpu-v4"):
        pytest.skip(f"tpu-v4: {reason}")
    assert outputs.describe(parallel, parallel.targets["tpu-v4"]).startswith("refused\n  Creating meshes for TPU")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of what compiling the dense layer takes."""
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("snippets", "scripts"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    for name in ("layer", "softmax"):
        shutil.copytree(outputs.EXPECTED / name, tmp_path / "tests" / "expected" / name)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def run(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the updating of a copy, on its own programs and package."""
    # Its captures are kept where this project's are: only what the copy changes is compiled.
    kept = os.environ.get("XLA_INSPECT_CACHE", str(ROOT / ".cache" / "xla_inspect"))
    environment = {**os.environ, "XLA_INSPECT_CACHE": kept}
    environment |= {"PYTHONPATH": os.pathsep.join(str(project / name) for name in ("snippets", "scripts"))}
    return subprocess.run(
        [sys.executable, str(project / "scripts" / "outputs.py"), *words],
        cwd=project,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.mark.usefixtures("all_targets")
def test_one_word_changed_in_a_program_is_named_with_program_target_and_what_changed_first(project: Path) -> None:
    program = project / "snippets" / "programs" / "layer.py"
    text = program.read_text(encoding="utf-8")
    program.write_text(text.replace("jax.nn.relu", "jax.nn.tanh"), encoding="utf-8")
    done = run(project, "--check", "layer", "softmax")
    assert done.returncode == 1
    assert (
        "layer on cpu: kernels changed first, from "
        "'kLoop fusion: add 1, broadcast 2, constant 1, maximum 1 -> f32[64,256]' to "
        "'kLoop fusion: add 1, broadcast 1, tanh 1 -> f32[64,256]'\n" in done.stdout
    )
    assert "softmax: as expected" in done.stdout
    assert done.stdout.endswith("\n\nIf that is meant, `scripts/update layer` writes it.\n")
    assert run(project, "layer").returncode == 0
    assert "layer: as expected" in run(project, "--check", "layer").stdout


def test_a_program_that_does_not_exist_is_refused_by_name() -> None:
    done = run(ROOT, "no_such_program")
    assert done.returncode == 2
    assert "nothing to compile is named no_such_program; there are asked, attention, " in done.stderr


def test_a_difference_names_the_member_of_a_family_and_shows_a_short_diff() -> None:
    old = "[first]\nkernels\n  a\n  b\n\n[second]\nkernels\n  c\nmemory in bytes\n  peak: 4\n"
    new = old.replace("peak: 4", "peak: 8")
    assert outputs.compare("family", "cpu", old, old) == ""
    assert outputs.compare("family", "cpu", old, new) == (
        "family [second] on cpu: memory in bytes changed first, from 'peak: 4' to 'peak: 8'\n"
        "--- tests/expected/family/cpu.txt (expected)\n"
        "+++ tests/expected/family/cpu.txt (now)\n"
        "@@ -9,2 +9,2 @@\n memory in bytes\n-  peak: 4\n+  peak: 8"
    )


def test_a_line_that_comes_or_goes_at_the_end_is_a_change_too() -> None:
    shorter, longer = "kernels\n  a\n", "kernels\n  a\n  b\n"
    assert outputs.compare("p", "cpu", shorter, longer).startswith(
        "p on cpu: kernels changed first, from 'nothing' to 'b'"
    )
    assert outputs.compare("p", "cpu", longer, shorter).startswith(
        "p on cpu: kernels changed first, from 'b' to 'nothing'"
    )
