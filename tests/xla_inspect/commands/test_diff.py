"""`xla-inspect diff`: the compared sides, and a commit that is read without touching the checkout."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding

from xla_inspect.commands import command_line, diff
from xla_inspect.targets import find_target

ACT = "import jax.numpy as jnp\ndef act(x):\n    return {}\n"
TRAIN = """import jax, jax.numpy as jnp
from helper import act
def step(x):
    return act(x).sum()
EXAMPLE = (jax.ShapeDtypeStruct((64, 128), jnp.float32),)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose last commit computes a sine, and whose current files also sort."""
    (tmp_path / "train.py").write_text(TRAIN, encoding="utf-8")
    (tmp_path / "helper.py").write_text(ACT.format("jnp.sin(x)"), encoding="utf-8")
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "one"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    (tmp_path / "helper.py").write_text(ACT.format("jnp.sort(jnp.sin(x))"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_commit_is_compared_with_the_files_as_they_are(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in (project / ".git").rglob("*") if path.is_file()}
    assert command_line.main(["diff", "train.py:step", "--rev", "HEAD"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("step, HEAD -> now: kernels ")
    assert "helper.py:3 return jnp.sort(jnp.sin(x))" in out
    # Neither the index nor anything else of git's is written, and no file of the checkout.
    assert {path: path.read_bytes() for path in (project / ".git").rglob("*") if path.is_file()} == before
    assert (project / "helper.py").read_text(encoding="utf-8") == ACT.format("jnp.sort(jnp.sin(x))")


def test_the_results_of_a_commit_are_compared_on_the_same_inputs(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "helper.py").write_text(ACT.format("jnp.cos(x)"), encoding="utf-8")
    assert command_line.main(["diff", "train.py:step", "--rev", "HEAD", "--numbers", "--seed", "1"]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith("step, HEAD -> now: the results differ (relative error ")
    assert (
        "They diverge already before the passes, at sine (helper.py:3) in HEAD and at cosine (helper.py:3) in now."
        in text
    )
    assert "random numbers with seed 1" in text


def lost_rounding(x: jax.Array) -> jax.Array:
    return x - x.astype(jnp.bfloat16).astype(jnp.float32)


@pytest.mark.usefixtures("all_targets")
def test_a_text_dump_for_a_cpu_is_compared_with_a_binary_dump_for_a_gpu(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dumps = []
    for target, form in (("cpu", "text"), ("h100", "proto")):
        mesh = Mesh(np.array(find_target(target).devices()[:1]), ("i",))
        argument = jax.ShapeDtypeStruct((8, 128), jnp.float32, sharding=NamedSharding(mesh, jax.P()))
        dumps.append(str(tmp_path / target))
        options = {"xla_dump_to": dumps[-1], f"xla_dump_hlo_as_{form}": True, "xla_dump_hlo_pass_re": ".*"}
        jax.jit(lost_rounding).lower(argument).compile(compiler_options=options)
    assert command_line.main(["diff", *dumps, "--numbers", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["left_step"], answer["right_step"]["passes"]) == (
        None,
        ["float_normalization/simplify-fp-conversions"],
    )
    assert "test_diff.py:" in answer["right_step"]["origin"]["where"]
    assert (answer["left"]["target"], answer["right"]["target"]) == ("cpu", "h100")


@pytest.mark.usefixtures("project")
def test_modules_of_one_name_are_not_mixed_up(capsys: pytest.CaptureFixture[str]) -> None:
    other = Path("other")
    other.mkdir()
    (other / "train.py").write_text(TRAIN, encoding="utf-8")
    (other / "helper.py").write_text(ACT.format("jnp.sin(x)"), encoding="utf-8")
    assert command_line.main(["diff", "train.py:step", "other/train.py:step"]) == 1
    assert "return jnp.sort(jnp.sin(x))" in capsys.readouterr().out


@pytest.mark.usefixtures("project")
def test_a_saved_capture_is_a_side(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["show", "train.py:step", "--stage", "capture", "-o", "old.xla.json"]) == 0
    assert command_line.main(["diff", "old.xla.json", "train.py:step"]) == 0
    assert "the same, instruction by instruction" in " ".join(capsys.readouterr().out.split())


@pytest.mark.usefixtures("project")
def test_one_side_can_have_another_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["diff", "train.py:step", "--with", "xla_disable_hlo_passes=fusion"]) in {0, 1}
    assert "xla_disable_hlo_passes cpu-parallel-task-assigner -> fusion" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("words", "first", "right"),
    [
        ("f.py:f g.py:g", diff.Side("f.py:f", ("f.py:f",), ""), diff.Side("g.py:g", ("g.py:g",), "")),
        ("f.py:f --rev v1", diff.Side("v1", ("f.py:f",), "", (), "v1"), diff.Side("now", ("f.py:f",), "")),
        (
            "f.py:f --rev v1 --rev v2",
            diff.Side("v1", ("f.py:f",), "", (), "v1"),
            diff.Side("v2", ("f.py:f",), "", (), "v2"),
        ),
        (
            "f.py:f --target h100 --against-target b200",
            diff.Side("h100", ("f.py:f",), "h100"),
            diff.Side("b200", ("f.py:f",), "b200"),
        ),
        (
            "f.py:f --with=--donate=0 --with xla_a=true",
            diff.Side("unchanged", ("f.py:f",), ""),
            diff.Side("with --donate=0 xla_a=true", ("f.py:f",), "", ("--donate=0", "--xla", "xla_a=true")),
        ),
        (
            "f.py:f run train.py --steps 3",
            diff.Side("f.py:f", ("f.py:f",), ""),
            diff.Side("run train.py --steps 3", ("run", "train.py", "--steps", "3"), ""),
        ),
    ],
)
def test_the_command_line_selects_the_two_sides(words: str, first: diff.Side, right: diff.Side) -> None:
    assert diff.find_sides(command_line.parse(["diff", *words.split()])) == (first, right)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train.py:step"], "pass a second SUBJECT, --rev"),
        (["train.py:step", "train.py:step", "--rev", "HEAD"], "diff compares two"),
        (["train.py:step", "--rev", "no-such"], "has no such commit"),
        (["train.py:step", "--rev", "--all"], "expected one argument"),
        (["gone.py:step", "--rev", "HEAD"], "this commit has no gone.py"),
        (["/gone.py:step", "--rev", "HEAD"], "not in a git repository"),
        (["train.py:gone", "--rev", "HEAD"], "no comparison, because HEAD failed"),
        (["train.py:step", "--rev", "HEAD", "--seed", "1"], "for the comparison of results; add --numbers"),
        (["train.py:step", "--with", "xla"], "pass an option of XLA with its value"),
    ],
)
@pytest.mark.usefixtures("project")
def test_an_impossible_comparison_is_reported(
    words: list[str], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    try:
        status = command_line.main(["diff", *words])
    except SystemExit as ended:
        status = ended.code  # type: ignore[assignment]  # argparse ends with a number
    assert status == 2
    assert message in " ".join(capfd.readouterr().err.split())
