"""The compilation of every program on every target matches the files in tests/expected."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import jax
import pytest

from authoring import expected_outputs
from common import ROOT
from xla_inspect import Capture, targets
from xla_inspect.analysis import find_peak, parse_buffers, parse_live_ranges, place_buffers

if TYPE_CHECKING:
    from pathlib import Path

FILES = sorted(expected_outputs.EXPECTED.glob("*/*.txt"))
TARGETS_REQUIRED = os.environ.get("REQUIRE_TARGETS") == "all"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_program_compiles_to_what_is_expected(path: Path) -> None:
    program, target = path.parent.name, path.stem
    if reason := expected_outputs.find_obstacle(target):
        (pytest.fail if TARGETS_REQUIRED else pytest.skip)(f"{target}: {reason}")
    if program not in expected_outputs.list_programs():
        pytest.fail(f"{path.relative_to(ROOT)}: no program makes it; `scripts/update` removes it", pytrace=False)
    if difference := expected_outputs.compare_outputs(
        program, target, path.read_text(encoding="utf-8"), expected_outputs.make(program, target)
    ):
        pytest.fail(f"{difference}\n{expected_outputs.advise([program])}", pytrace=False)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_more_bytes_live_than_are_allocated(path: Path) -> None:
    program, target = path.parent.name, path.stem
    if reason := expected_outputs.find_obstacle(target):
        (pytest.fail if TARGETS_REQUIRED else pytest.skip)(f"{target}: {reason}")
    for member in expected_outputs.list_members(program):
        compiled_member = (
            expected_outputs.compile_member(member, member.targets[target]) if target in member.targets else None
        )
        if isinstance(compiled_member, Capture):
            assignment = parse_buffers(compiled_member.buffers)
            placed = place_buffers(assignment, parse_live_ranges(compiled_member.live_ranges))
            assert find_peak(placed)[1] <= assignment.total
            # What is left between this and the executable's own figure: see `find_peak`.
            tuples = {(value.instruction, value.index) for _, value in assignment.values() if value.shape.is_tuple}
            rest = [row for row in placed if row.kind != "constant" and (row.instruction, row.index) not in tuples]
            # The executable's own figure leaves out when what lies in the host's memory, S(5), is live.
            if targets.find_target(target).kind == "gpu" and "S(5)" not in compiled_member.after:
                assert find_peak(rest)[1] <= compiled_member.memory.peak


def test_every_program_with_something_to_compile_has_a_file_for_each_target() -> None:
    programs = expected_outputs.list_programs()
    expected_files = {
        expected_outputs.locate(program, target)
        for program in programs
        for target in expected_outputs.list_targets(program)
    }
    missing = sorted(path.relative_to(ROOT).as_posix() for path in expected_files - set(FILES))
    assert missing == [], "`scripts/update` writes them"


def test_no_file_is_left_of_a_program_that_is_gone() -> None:
    assert expected_outputs.find_stale() == []


def test_a_program_of_the_gallery_is_compiled_for_all_of_its_targets() -> None:
    assert expected_outputs.list_targets("softmax") == list(expected_outputs.targets.TARGETS)
    assert expected_outputs.list_targets("product") == ["cpu", "h100", "tpu-v5e"]


def test_a_rejection_by_a_target_is_recorded_with_its_message() -> None:
    if reason := expected_outputs.find_obstacle("tpu-v5e"):
        pytest.skip(f"tpu-v5e: {reason}")
    member = expected_outputs.Member(
        "eigvals", jax.numpy.linalg.eigvals, (jax.ShapeDtypeStruct((8, 8), "float32"),), {}
    )
    description = expected_outputs.describe_member(member, "tpu-v5e")
    assert description == "refused\n  MLIR translation rule for primitive 'eig' not found for platform tpu\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the files that compiling the dense layer needs."""
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("snippets", "scripts"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    for name in ("layer", "softmax"):
        shutil.copytree(expected_outputs.EXPECTED / name, tmp_path / "tests" / "expected" / name)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def run(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the update of the expected outputs in a copy of the project, with its own programs and package."""
    # Its captures are kept where this project's are: only what the copy changes is compiled.
    cache = os.environ.get("XLA_INSPECT_CACHE", str(ROOT / ".cache" / "xla_inspect"))
    environment = {**os.environ, "XLA_INSPECT_CACHE": cache}
    environment |= {"PYTHONPATH": os.pathsep.join(str(project / name) for name in ("snippets", "scripts"))}
    return subprocess.run(
        [sys.executable, "-m", "authoring.update", *words],
        cwd=project,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.mark.long("it guards the project's upkeep and no reader")
@pytest.mark.usefixtures("all_targets")
def test_one_word_changed_in_a_program_is_named_with_program_target_and_what_changed_first(project: Path) -> None:
    program = project / "snippets" / "programs" / "layer.py"
    text = program.read_text(encoding="utf-8")
    program.write_text(text.replace("jax.nn.relu", "jax.nn.tanh"), encoding="utf-8")
    result = run(project, "--check", "layer", "softmax")
    assert result.returncode == 1
    assert (
        "layer on cpu: kernels changed first, from "
        "'kLoop fusion: add 1, broadcast 2, constant 1, maximum 1 -> f32[64,256]' to "
        "'kLoop fusion: add 1, broadcast 1, tanh 1 -> f32[64,256]'\n" in result.stdout
    )
    assert "softmax: as expected" in result.stdout
    assert result.stdout.endswith("\n\nIf that is meant, `scripts/update layer` writes it.\n")
    assert run(project, "layer").returncode == 0
    assert "layer: as expected" in run(project, "--check", "layer").stdout


def test_a_program_that_does_not_exist_is_refused_by_name() -> None:
    result = run(ROOT, "no_such_program")
    assert result.returncode == 2
    assert "nothing to compile is named no_such_program; there are asked, attention, " in result.stderr


def test_a_difference_names_the_member_of_a_family_and_shows_a_short_diff() -> None:
    old = "[first]\nkernels\n  a\n  b\n\n[second]\nkernels\n  c\nmemory in bytes\n  peak: 4\n"
    new = old.replace("peak: 4", "peak: 8")
    assert expected_outputs.compare_outputs("family", "cpu", old, old) == ""
    assert expected_outputs.compare_outputs("family", "cpu", old, new) == (
        "family [second] on cpu: memory in bytes changed first, from 'peak: 4' to 'peak: 8'\n"
        "--- tests/expected/family/cpu.txt (expected)\n"
        "+++ tests/expected/family/cpu.txt (now)\n"
        "@@ -9,2 +9,2 @@\n memory in bytes\n-  peak: 4\n+  peak: 8"
    )


def test_a_line_that_comes_or_goes_at_the_end_is_a_change_too() -> None:
    shorter, longer = "kernels\n  a\n", "kernels\n  a\n  b\n"
    assert expected_outputs.compare_outputs("p", "cpu", shorter, longer).startswith(
        "p on cpu: kernels changed first, from 'nothing' to 'b'"
    )
    assert expected_outputs.compare_outputs("p", "cpu", longer, shorter).startswith(
        "p on cpu: kernels changed first, from 'b' to 'nothing'"
    )
