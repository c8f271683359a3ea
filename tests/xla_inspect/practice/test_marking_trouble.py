"""Broken, crashing and endless exercise files are each reported with their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from planting import BY_KEY, plant

from xla_inspect.practice import run_marking
from xla_inspect.practice.marking.exercises import Exercise
from xla_inspect.practice.marking.marker import mark
from xla_inspect.practice.marking.sandbox import Sandbox

if TYPE_CHECKING:
    from pathlib import Path

    from xla_inspect.practice.marking.verdict import ExerciseVerdict

pytestmark = pytest.mark.long("otherwise each exercise is marked with its solution")

HEADER = "def multiply_by_hessian"


def try_out(sandbox: Sandbox, folder: Path, body: str, before: str = "") -> tuple[ExerciseVerdict, str]:
    """Mark an exercise with this body of `multiply_by_hessian`, and return the verdict and the last remark."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    answer = f"{before}\n{HEADER}(x, v):\n{lines}\n"
    verdict = mark(plant("transforms/hessian_vector", folder, answer), sandbox)
    assert not any("Traceback" in text for remark in verdict.remarks for text in (remark.text, *remark.lines))
    return verdict, verdict.remarks[-1].text if verdict.remarks else ""


def line_of(folder: Path, text: str) -> str:
    """Return `file:line` of the first line of the planted exercise that contains a text."""
    file = folder / "practice" / "transforms" / "hessian_vector.py"
    number = next(n for n, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1) if text in line)
    return f"{file.as_posix()}:{number}"


def test_invalid_python_is_reported_with_its_place(sandbox: Sandbox, tmp_path: Path) -> None:
    exercise = plant("transforms/hessian_vector", tmp_path, "")
    with exercise.file.open("a", encoding="utf-8") as file:
        file.write("\n\ndef other(x:\n    return x\n")
    verdict = mark(Exercise(exercise.phase, exercise.name, exercise.folder), sandbox)
    place = line_of(tmp_path, "def other(x:")
    assert verdict.verdict == "wrong"
    assert verdict.remarks[0].text == f"{place}: Python cannot read this: '(' was never closed"
    assert verdict.remarks[0].lines == ("def other(x:", " " * 9 + "^")


# The body of `multiply_by_hessian`, the code before it, a part of the reported line, and a part of the message.
TROUBLES = {
    "raises": ("return jnp.sum(x) @ missing", "", "@ missing", "NameError: name 'missing' is not defined"),
    "branches on a value": (
        "if x[0] > 0:\n    return v\nreturn x",
        "",
        "if x[0] > 0",
        "TracerBoolConversionError: Attempted boolean conversion",
    ),
    "returns nothing": ("x + v", "", HEADER, "it returns None (is a `return` missing?) instead of f32[64]"),
    "returns two": ("return (x, v)", "", HEADER, "it returns (f32[64], f32[64]) instead of f32[64]"),
    "returns another shape": ("return x[:3]", "", HEADER, "it returns f32[3] instead of f32[64]"),
    "returns a text": ("return 'x'", "", "", "'str'"),
    "exits": (
        "return x",
        "import sys\nsys.exit(0)",
        "",
        "SystemExit: the file ends the process here",
    ),
    "asks for input": ("return input()", "", "input()", "EOFError"),
    "leaves": ("import os\nos._exit(7)", "", "", "it ended the process that ran it (exit status 7)"),
    "aborts": (
        "import os\nos.abort()",
        "",
        "",
        "it ended the process that ran it (signal SIGABRT; XLA ends a process so",
    ),
    "raises below its answer": (
        "if len(x):\n    return x\nelse:\n    return v\nraise NotImplementedError",
        "",
        "raise NotImplementedError",
        "still raises below your code in `multiply_by_hessian`; delete it",
    ),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_an_error_is_reported_with_its_line_and_shortened(trouble: str, sandbox: Sandbox, tmp_path: Path) -> None:
    body, before, line, what = TROUBLES[trouble]
    verdict, message = try_out(sandbox, tmp_path, body, before)
    assert (verdict.verdict, what in message) == ("wrong", True), message
    assert message.startswith(line_of(tmp_path, line) if line else tmp_path.as_posix())
    assert len(message) < 700


def test_an_endless_loop_is_reported_with_its_line_and_the_next_file_runs(tmp_path: Path) -> None:
    with Sandbox(limit=2) as sandbox:
        verdict, message = try_out(sandbox, tmp_path / "a", "while True:\n    x = v")
        assert verdict.verdict == "wrong"
        loop = line_of(tmp_path / "a", "while True:")
        assert message.startswith((loop, f"{loop[: loop.rindex(':')]}:{int(loop.rpartition(':')[2]) + 1}"))
        assert message.endswith("it was still running after 2 seconds; does a loop never end?")
        verdict, message = try_out(sandbox, tmp_path / "b", "return None", before="while True: pass")
        assert message.startswith(line_of(tmp_path / "b", "while True: pass"))


def test_printed_output_of_a_file_is_reported_with_its_lines(sandbox: Sandbox, tmp_path: Path) -> None:
    answer = BY_KEY["transforms/hessian_vector"].solution_text.partition(HEADER)[2].partition('"""\n')[2]
    noisy = 'print("tracing", x.shape)\n' + "\n".join(line.removeprefix("    ") for line in answer.splitlines())
    verdict, _ = try_out(
        sandbox, tmp_path, noisy, before='print("{\\"verdict\\": \\"right\\"}")\nimport os\nos.write(1, b"x\\n")'
    )
    assert verdict.verdict == "right"
    first, second, *_ = verdict.printed
    assert first.endswith(': {"verdict": "right"}')
    assert second == f"line {line_of(tmp_path, 'tracing').rpartition(':')[2]}: tracing (64,)"
    assert verdict.printed_lines == len(verdict.printed)


def test_settings_changed_by_a_file_do_not_affect_the_next_one(sandbox: Sandbox, tmp_path: Path) -> None:
    setting = 'jax.config.update("jax_enable_x64", True)'
    try_out(sandbox, tmp_path / "a", "return x", before=setting)
    verdict, message = try_out(sandbox, tmp_path / "b", "return jnp.asarray(x, jnp.float64)")
    assert "the numbers are wrong" in message, verdict


@pytest.mark.parametrize(
    "setting",
    [
        "import logging\nlogging.disable(logging.CRITICAL)",
        "import numpy as np\nnp.asarray = lambda *_: 3",
        "import os\nos.environ['XLA_FLAGS'] = '--xla_none'",
    ],
    ids=["logging", "numpy", "environment"],
)
def test_global_changes_of_a_file_do_not_affect_the_next_one(setting: str, sandbox: Sandbox, tmp_path: Path) -> None:
    try_out(sandbox, tmp_path / "a", "return x", before=setting)
    right = BY_KEY["basics/mlp"].solution_text.partition("@jax.jit")
    assert mark(plant("basics/mlp", tmp_path / "b", right[1] + right[2]), sandbox).verdict == "right"


def test_an_unchanged_process_is_reused_for_the_next_file(sandbox: Sandbox, tmp_path: Path) -> None:
    code = "import os\nprint(os.getpid())"
    first, _ = try_out(sandbox, tmp_path / "a", "return x + v @ v", before=code)
    second, _ = try_out(sandbox, tmp_path / "b", "return jax.nn.softmax(jnp.linalg.norm(x) * v)", before=code)
    assert first.printed == second.printed != ()


def test_wrong_parameters_are_reported_with_the_line_of_the_function(sandbox: Sandbox, tmp_path: Path) -> None:
    for at, text in enumerate((f"{HEADER}(x): return x", f"@jax.jit\n{HEADER}(x): return x", f"{HEADER}(x, v, w): x")):
        exercise = plant("transforms/hessian_vector", tmp_path / str(at), text)
        number = next(n for n, line in enumerate(exercise.text.splitlines(), 1) if line.startswith(HEADER))
        message = mark(exercise, sandbox).remarks[-1].text
        assert message.startswith(f"{exercise.file.as_posix()}:{number}: TypeError: "), message
        assert "positional argument" in message


def test_settings_of_the_shell_do_not_affect_the_exercises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    monkeypatch.setenv("JAX_PLATFORMS", "cuda")
    with Sandbox(limit=60) as sandbox:
        assert try_out(sandbox, tmp_path, "return x + jnp.ones(64)")[1].count("the numbers are wrong") == 1


def test_a_removed_function_is_requested_by_name(sandbox: Sandbox, tmp_path: Path) -> None:
    exercise = plant("transforms/hessian_vector", tmp_path, "multiply_by_hessian = 3")
    message = mark(exercise, sandbox).remarks[0].text
    assert message.endswith("no longer has a function `multiply_by_hessian`, which the check calls")


def test_an_answer_of_another_type_is_reported_with_its_line(sandbox: Sandbox, tmp_path: Path) -> None:
    answers = 'LOSS = "two"\nGRADIENT = 5\nWITH_INPUT = 6\nPER_EXAMPLE = 5'
    exercise = plant("transforms/count_products", tmp_path, answers)
    number = exercise.text.splitlines().index('LOSS = "two"') + 1
    assert mark(exercise, sandbox).remarks[0].text == (
        f"{exercise.file.as_posix()}:{number}: `LOSS` is 'two', but the answer must be of type int"
    )


def test_a_partial_solution_raises_at_its_open_place(sandbox: Sandbox, tmp_path: Path) -> None:
    verdict, message = try_out(sandbox, tmp_path, "if True:\n    raise NotImplementedError\nreturn x")
    assert (verdict.verdict, message.startswith(line_of(tmp_path, "raise NotImplementedError"))) == ("unwritten", True)


def test_a_missing_file_is_reported_with_the_way_to_restore_it(sandbox: Sandbox, tmp_path: Path) -> None:
    exercise = Exercise("hlo", "donate", tmp_path)
    verdict = mark(exercise, sandbox)
    assert verdict.verdict == "wrong"
    assert "hlo/donate.py is missing; restore it with `git checkout " in verdict.remarks[0].text


def test_missing_exercises_are_explained_outside_of_a_clone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_marking([], tmp_path) == 2
    assert "they come with the project's repository" in capsys.readouterr().err
