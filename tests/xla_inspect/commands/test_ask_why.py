"""`xla-inspect why`: names after the subject, trials of changes, and errors."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from xla_inspect import capture
from xla_inspect.commands import command_line

PROGRAMS = Path(__file__).resolve().parents[3] / "snippets" / "programs"
LAYERNORM = f"{PROGRAMS / 'layernorm.py'}:layernorm"


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert command_line.run_here(["why", "--target", "cpu", "--json", *words]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def test_a_name_can_follow_the_subject_after_options(capsys: pytest.CaptureFixture[str]) -> None:
    first = ask(capsys, LAYERNORM, "mean")
    assert first == ask(capsys, "--what", "mean", LAYERNORM)
    options = command_line.parse(["why", LAYERNORM, "--target", "cpu", "mean"])
    assert options.subject == [LAYERNORM, "mean"]


def test_without_a_name_the_questions_come_with_commands_that_work(capsys: pytest.CaptureFixture[str]) -> None:
    questions = ask(capsys, LAYERNORM)["questions"]
    assert questions != []
    words = shlex.split(questions[0]["command"])
    assert command_line.run_here([*words[1:], "--json"]) == 0


def test_a_change_is_tried_and_its_effects_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    trials = ask(capsys, "--apart", "mean,variance", "--try", "batch,precision", LAYERNORM)["trials"]
    assert {trial["kind"] for trial in trials} <= {"batch", "precision"}
    assert all("kernels" in trial["effect"] for trial in trials if trial["outcome"] != "failed")


@pytest.mark.usefixtures("all_targets")
def test_a_compiler_crash_ends_only_one_trial(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "caches.py"
    file.write_text(
        "import jax, jax.numpy as jnp\n"
        "EXAMPLE = tuple(jax.ShapeDtypeStruct(s, t) for s, t in (((100, 32), jnp.float32), ((100, 2), jnp.float32),"
        " ((100,), jnp.int32)))\n"
        "def write(cache, entries, positions):\n"
        "    def one(c, e, p):\n"
        "        return jax.lax.dynamic_update_slice(c, e, (p,))\n"
        "    return jax.vmap(one)(cache, entries, positions)\n",
        encoding="utf-8",
    )
    words = ["why", f"{file}:write", "while.1", "--target", "tpu-v5e", "--try", "pass", "--json"]
    assert command_line.run_here(words) == 0
    trials = json.loads(capsys.readouterr().out)["trials"]
    [trial] = [
        trial_entry for trial_entry in trials if trial_entry["change"] == "without the pass tpu_scatter_expander"
    ]
    assert trial["outcome"] == "failed"
    assert "the compiler ended its process" in trial["note"]


def test_a_saved_capture_reports_missing_parts_and_allows_no_trials(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from programs.layernorm import EXAMPLE, layernorm

    saved = tmp_path / "saved.json"
    saved.write_text(capture(layernorm, *EXAMPLE).to_json(), encoding="utf-8")
    assert command_line.run_here(["why", str(saved), "mean"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "show SUBJECT --stage capture --reasons -o FILE.json" in text
    assert "the log holds no attempt" not in text
    assert "--try" not in text
    assert command_line.run_here(["why", str(saved), "mean", "--try", "all"]) == 2
    assert "is a saved capture, which cannot be compiled with changes" in capsys.readouterr().err


def test_a_dump_without_reasons_explains_how_to_get_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from programs.layernorm import EXAMPLE, layernorm

    dump = tmp_path / "dump.hlo"
    dump.write_text(capture(layernorm, *EXAMPLE).after, encoding="utf-8")
    assert command_line.run_here(["why", str(dump), "layernorm"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "There are no compiler messages: a dump holds nothing of what the compiler said of its reasons" in text
    assert "TF_CPP_VMODULE=hlo_pass_pipeline=1" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([LAYERNORM, "meann"], "the nearest are mean"),
        ([LAYERNORM, ":1"], "the nearest lines with instructions"),
        ([LAYERNORM, "a", "b"], "pass one part at a time, not a, b"),
        ([LAYERNORM, "--apart", "mean"], "pass two parts with a comma between them"),
        ([LAYERNORM, "mean", "--try", "magic"], "there is no 'magic' to try"),
        ([LAYERNORM, "--try", "all"], "--try needs a part of the program"),
        ([str(PROGRAMS)], "programs holds "),
        (["dump.txt"], "there is no file or folder dump.txt"),
    ],
)
def test_an_unanswerable_question_is_reported(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.run_here(["why", "--target", "cpu", *words]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert message in output.err.replace(os.sep, "/")
    assert "Traceback" not in output.err
