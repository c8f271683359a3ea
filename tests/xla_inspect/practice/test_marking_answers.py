"""Marks: solutions pass, missing answers are named, and wrong programs fail even with right numbers."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
import wrong_answers
import wrong_answers_late
import wrong_inputs
from planting import BY_KEY, plant, solve
from right_answers import RIGHT
from wrong_answers import Wrong

from xla_inspect.practice import run_marking
from xla_inspect.practice.marking.exercises import name_file
from xla_inspect.practice.marking.marker import mark
from xla_inspect.terminal import Paper

if TYPE_CHECKING:
    from pathlib import Path

    from xla_inspect.practice.marking.sandbox import Sandbox

HEAD = """
from functools import partial
import jax.numpy as jnp
from practice.capstone.slow import LENGTH, LONGEST, WIDTH, Layer

"""


def run(folder: Path, *names: str) -> tuple[int, str]:
    stream = io.StringIO()
    status = run_marking(names, folder, paper=Paper(stream))
    return status, stream.getvalue()


def test_every_solution_is_right(folder: Path) -> None:
    solve(folder)
    status, output = run(folder)
    assert "WRONG" not in output
    assert (status, f"{len(BY_KEY)} exercises: {len(BY_KEY)} right." in output) == (0, True)
    assert output.rstrip().endswith("uv run xla-inspect report FILE.py:FUNCTION")
    assert "kernels compiled" in output


def test_an_unsolved_part_is_reported_with_its_place(folder: Path) -> None:
    status, output = run(folder)
    assert (status, f"{len(BY_KEY)} exercises: {len(BY_KEY)} not yet written." in output) == (3, True)
    for exercise in BY_KEY.values():
        for place in exercise.places:
            assert f"{exercise.phase}/{exercise.name}.py:{place.line}" in output
            assert "TODO(human)" in exercise.text.splitlines()[place.line - 1]


def test_one_exercise_is_marked_alone_and_the_next_is_named(folder: Path) -> None:
    solve(folder)
    status, output = run(folder, "jaxpr/from_jaxpr")
    assert (status, output.count("[1 of 1] jaxpr/from_jaxpr: "), "1 exercise: 1 right." in output) == (0, 1, True)
    assert f"Lesson: {BY_KEY['jaxpr/from_jaxpr'].learnt}" in " ".join(output.split())
    assert f"] 1 of {len(BY_KEY)} " in " ".join(output.split())
    end = f"Continue with {name_file(folder / 'hlo' / 'read_dump.py')}, and check it: "
    command = f"uv run python -m xla_inspect.main --check hlo/read_dump --exercises {folder}"
    assert " ".join(output.split()).endswith(end + command)


def test_something_wrong_outweighs_something_not_yet_written(folder: Path) -> None:
    file = folder / "transforms" / "count_products.py"
    file.write_text(file.read_text(encoding="utf-8").replace("= None", "= 1"), encoding="utf-8")
    status, output = run(folder, "transforms")
    assert (status, "--hint transforms/count_products --exercises" in output, "Learnt" in output) == (1, True, False)
    assert run(folder, "basics")[0] == 3


@pytest.mark.long("otherwise each exercise is marked with its solution")
@pytest.mark.parametrize("key", RIGHT)
def test_a_right_answer_that_is_not_the_solution_is_right_too(key: str, sandbox: Sandbox, tmp_path: Path) -> None:
    verdict = mark(plant(key.partition(":")[0], tmp_path, RIGHT[key]), sandbox)
    assert [remark.text for remark in verdict.remarks if not remark.good] == []
    assert verdict.verdict == "right"


WRONG = (*wrong_answers.WRONG, *wrong_answers_late.WRONG, *wrong_inputs.WRONG)


@pytest.mark.long("otherwise each exercise is marked with its solution")
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: f"{wrong.key}: {wrong.what}")
def test_a_wrong_answer_fails_and_the_dump_shows_why(wrong: Wrong, sandbox: Sandbox, tmp_path: Path) -> None:
    verdict = mark(plant(wrong.key, tmp_path, wrong.answer), sandbox)
    bad = [remark for remark in verdict.remarks if not remark.good]
    assert verdict.verdict == "wrong"
    remarks = [remark for remark in bad if wrong.said in remark.text]
    assert remarks != [], [remark.text for remark in bad]
    assert any(wrong.shown in line for line in (*remarks[0].lines, "" if not wrong.shown else "no line")), remarks[
        0
    ].lines


@pytest.mark.long("otherwise each exercise is marked with its solution")
def test_the_slow_model_shows_all_four_causes(sandbox: Sandbox, tmp_path: Path) -> None:
    slow = BY_KEY["capstone/model"].file.with_name("slow.py").read_text(encoding="utf-8")
    answer = slow[slow.index("def apply(") : slow.index('if __name__ == "__main__"')]
    verdict = mark(plant("capstone/model", tmp_path, HEAD + answer), sandbox)
    bad = {remark.text.partition(",")[0]: remark.lines for remark in verdict.remarks if not remark.good}
    assert list(bad) == ["shape", "transposition", "donation", "loop"]
    assert [line[-16:] for line in bad["shape"]] == [f" float32[{rows},128])"[-16:] for rows in (64, 48, 17, 5)]
    assert any("lhs_contracting_dims={0}" in line for line in bad["transposition"])
    assert any("f32[4096,128]{1,0} copy(" in line for line in bad["donation"])
    assert sum(" dot(" in line for line in bad["loop"]) == 8


@pytest.mark.long("otherwise each exercise is marked with its solution")
def test_each_cause_is_judged_for_itself(sandbox: Sandbox, tmp_path: Path) -> None:
    solved = BY_KEY["capstone/model"].solution_text
    answer = solved[solved.index("def apply(") :].replace('@partial(jax.jit, donate_argnames="memory")', "@jax.jit")
    padded = answer.replace(
        "padded[here], is_token[here] = piece, True",
        "padded, is_token[here] = jnp.pad(piece, ((here.start, LONGEST - here.stop), (0, 0))), True",
    )
    verdict = mark(plant("capstone/model", tmp_path, HEAD + padded), sandbox)
    bad = {remark.text.partition(",")[0]: remark for remark in verdict.remarks if not remark.good}
    assert list(bad) == ["shape", "donation"]
    assert "operations of `jnp` outside `step` are compiled for each shape too" in bad["shape"].text
    assert any(line.startswith("compiled _pad for (float32[50,128]") for line in bad["shape"].lines)


@pytest.mark.long("otherwise each exercise is marked with its solution")
def test_padding_rows_must_not_be_stored(sandbox: Sandbox, tmp_path: Path) -> None:
    solved = BY_KEY["capstone/model"].solution_text
    answer = solved[solved.index("def apply(") :].replace("is_token[here] =", "is_token[:] =")
    verdict = mark(plant("capstone/model", tmp_path, HEAD + answer), sandbox)
    assert [remark.good for remark in verdict.remarks] == [False]
    assert "after a text of 198 tokens, later rows of the memory are not zero" in verdict.remarks[0].text
