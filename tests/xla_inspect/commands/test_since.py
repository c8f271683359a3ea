"""`xla-inspect since`: the release, pass and line that changed a program.

The project's own environment plays each release; for an older one, a pass is disabled that it is to lack.
"""

from __future__ import annotations

import json
import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "releases"))  # tests are found by path

from released import make_here

from xla_inspect.answers import describe_json
from xla_inspect.commands import command_line, program_history, since
from xla_inspect.questions.since import ReleaseHistory
from xla_inspect.releases import ReleaseError, run_probe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from xla_inspect.releases import Environment

    type Tasks = Sequence[Mapping[str, Any]]

RELEASES = ("0.90.0", "0.91.0", "0.92.0", "0.93.0")
PROGRAM = """\
import jax, jax.numpy as jnp

def step(w, x):
    y = jnp.sin(x @ w) + 1.0
    return y * jnp.exp(-y).sum()

f32 = jnp.float32
EXAMPLE = (jax.ShapeDtypeStruct((32, 16), f32), jax.ShapeDtypeStruct((8, 32), f32))
"""


def probe(
    lacking: str,
    environment: Environment,
    tasks: Tasks,
    *,
    flags: dict[str, str],
    **others: Any,  # noqa: ANN401 - as they are
) -> Iterator[Any]:
    """Compile as `run_probe` does, without a pass in the older releases."""
    older = {} if environment.version >= "0.92.0" else {"xla_disable_hlo_passes": lacking}
    return run_probe(environment, tasks, flags={**flags, **older}, **others)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a program, and four releases: the last two fuse, and the second cannot be installed."""
    (tmp_path / "step.py").write_text(PROGRAM, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def make(version: str, *_: object, say: Callable[[str], None], **__: object) -> Environment:
        say(f"installing JAX {version}")
        if version == "0.91.0":
            message = "JAX 0.91.0 has no wheels for a Python of this machine (Python 3.12)"
            raise ReleaseError(message)
        return make_here(version, tmp_path / "releases" / version)

    monkeypatch.setattr(since, "list_releases", lambda: RELEASES)
    monkeypatch.setattr(program_history, "make_environment", make)
    monkeypatch.setattr(program_history, "run_probe", partial(probe, "fusion"))
    return tmp_path


def test_release_pass_and_line_are_reported_and_saved(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["since", "step.py:step", "--from", "0.90.0", "--to", "0.93.0", "--ask", "kernels"]
    assert command_line.main([*words, "--html", "found.html", "--issue", "found.md"]) == 1
    output = capsys.readouterr()
    text = " ".join(output.out.split())
    assert text.startswith("step on CPU, JAX 0.90.0 to 0.93.0: the first release with a change is 0.92.0: kernels (")
    assert "pass fusion" in text
    assert "The line is step.py:" in text
    assert "0.91.0 was not measured: JAX 0.91.0 has no wheels" in text
    assert "compiling under JAX 0.92.0 (" in output.err
    page, issue = (Path(name).read_text(encoding="utf-8") for name in ("found.html", "found.md"))
    assert "<table>" in page
    assert issue.startswith("# step on CPU: kernels ")
    assert "def step(w, x):" in issue
    assert "```diff" in issue
    assert "| jax | 0.90.0 | 0.92.0 |" in issue
    assert sorted(path.name for path in project.iterdir() if path.suffix) == ["found.html", "found.md", "step.py"]


@pytest.mark.usefixtures("project")
def test_a_question_whose_answer_changed_twice_is_named_with_the_command_that_finds_both(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def probe_each(environment: Environment, tasks: Tasks, *, flags: dict[str, str], **others: Any) -> Iterator[Any]:  # noqa: ANN401 - as they are
        passes = {"0.90.0": "fusion", "0.93.0": "dot-library-rewriter,fusion"}.get(environment.version, "")
        return run_probe(environment, tasks, flags={**flags, "xla_disable_hlo_passes": passes}, **others)

    monkeypatch.setattr(program_history, "run_probe", probe_each)
    words = ["since", "step.py:step", "--from", "0.90.0", "--to", "0.93.0", "--ask", "kernels"]
    command_line.main(words)
    text = " ".join(capsys.readouterr().out.split())
    assert "a release with a change is " in text
    assert "Answers also changed at other releases (kernels)." in text
    assert "since --every --ask kernels --from 0.90.0 --to 0.93.0" in text
    assert command_line.main([*words, "--every"]) == 1
    assert "Answers also changed" not in capsys.readouterr().out


def test_a_release_that_changes_results_is_reported_with_its_pass_and_the_size(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "step.py").write_text(PROGRAM.replace("(32, 16)", "(256, 256)").replace("(8, 32)", "(256, 256)"))
    monkeypatch.setattr(program_history, "run_probe", partial(probe, "dot-library-rewriter"))
    words = ["since", "step.py:step", "--from", "0.90.0", "--to", "0.92.0", "--ask", "numbers"]
    assert command_line.main(words) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "the first release with a change is 0.92.0: numbers (hash " in text
    assert "The results of the two releases differ from `dot-library-rewriter` on." in text
    assert "The line is step.py:5" in text
    assert re.search(r"Result 0: relative error \S+e-0[67], absolute", text)


def test_a_program_that_no_release_changed_raises_no_alarm(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert project
    monkeypatch.setattr(program_history, "run_probe", run_probe)
    assert command_line.main(["since", "step.py:step", "--from", "0.90.0", "--to", "0.93.0", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["holds"], answer["changes"]) == (True, [])
    assert [row["release"] for row in answer["rows"]] == ["0.90.0", "0.93.0"]
    assert {row["kernels"] for row in answer["rows"]} != {None}
    assert set(answer) <= set(describe_json(ReleaseHistory)["properties"])


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["step.py:step", "--ask", "speed"], 2, "there is no such question; the questions are compiles, kernels"),
        (["step.py:step", "--from", "0.93.0", "--to", "0.90.0"], 2, "--from 0.93.0 is not before --to 0.90.0"),
        (["step.py:step", "--from", "0.89.0", "--to", "0.93.0"], 2, "the nearest are 0.90.0"),
        (["step.py:step", "--target", "h1000"], 2, "h1000"),
        (["step.py:step", "--target", "h100", "--run"], 2, "--run measures on this machine's CPU"),
        (["missing.py:step"], 2, "no file missing.py"),
        (["step.py"], 2, "which function of it"),
        (["run", "step.py"], 2, "each release compiles a function anew, and 'run step.py' is a script"),
        (["step.py:other", "--from", "0.92.0", "--to", "0.93.0"], 2, "has no attribute 'other'"),
        (["step.py:step", "--html", "step.py"], 2, "step.py already exists"),
        (["step.py:step", "--issue", "no/folder.md"], 2, "there is no folder no"),
    ],
)
def test_an_impossible_question_is_rejected_with_a_message(
    words: list[str], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.main(["since", *words]) == status
    output = capsys.readouterr()
    assert message in output.err
    assert "Traceback" not in output.err
    assert output.out == ""


@pytest.mark.usefixtures("project")
def test_a_machine_that_no_compiler_exists_for_is_a_missing_target(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(since, "find_obstacle", lambda kind: "its compiler exists elsewhere" if kind == "tpu" else "")
    assert command_line.main(["since", "step.py:step", "--target", "tpu-v5e"]) == 3
    assert "target 'tpu-v5e' is not available here: its compiler exists elsewhere" in capsys.readouterr().err


@pytest.mark.usefixtures("project")
def test_releases_are_not_compared_for_amd_gpus(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["since", "step.py:step", "--target", "mi300x"]) == 3
    assert "target 'mi300x' is not available here: releases are compared for CPUs, NVIDIA" in capsys.readouterr().err


@pytest.mark.usefixtures("project")
def test_the_installed_releases_are_used_without_the_package_index(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> tuple[str, ...]:
        message = "which releases of JAX there are cannot be found out: the package index does not answer"
        raise ReleaseError(message)

    monkeypatch.setattr(since, "list_releases", refuse)
    monkeypatch.setattr(since, "list_installed", lambda: ("0.93.0", "0.9.0"))
    assert command_line.main(["since", "step.py:step", "--from", "0.91.0", "--to", "0.93.0"]) == 2
    error_text = capsys.readouterr().err
    assert "the package index does not answer; using the installed releases: 0.9.0, 0.93.0" in error_text
    assert "--from 0.91.0: there is no such release" in error_text
    monkeypatch.setattr(since, "list_installed", lambda: ())
    assert command_line.main(["since", "step.py:step", "--from", "0.91.0", "--to", "0.93.0"]) == 2
    assert "the package index does not answer" in capsys.readouterr().err
