"""Statements of the exercises: tasks, hints, given code, commands and numbers."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import jax
import pytest
from planting import BY_KEY

from xla_inspect import InspectError, capture
from xla_inspect.analysis import list_launches
from xla_inspect.practice.marking.check_jaxpr import W, X, _normal
from xla_inspect.practice.marking.exercises import EXERCISES, LEVELS, Exercise, find_exercises
from xla_inspect.practice.phases import CHECKED, PHASES
from xla_inspect.subject import Request, load_file, read_function

ROOT = Path(__file__).resolve().parents[3]
COMMAND = re.compile(r"^    uv run (xla-inspect show|python) (\S+)(.*)$", re.MULTILINE)


def name(exercise: Exercise) -> str:
    return exercise.key


def given(text: str) -> dict[str, str]:
    """Return the functions and classes of a file by name, as parsed by Python."""
    nodes = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef))
    return {node.name: ast.dump(node) for node in nodes}


@pytest.mark.parametrize("exercise", EXERCISES, ids=name)
def test_the_file_of_an_exercise_gives_no_hint_away(exercise: Exercise) -> None:
    assert [hint for hint in exercise.hints if hint[:60] in " ".join(exercise.text.split())] == []
    assert re.fullmatch(r"[A-Z`].*\.", exercise.learnt)


def test_the_registry_lists_every_file_and_every_solution() -> None:
    folder = EXERCISES[0].folder
    files = {
        file
        for phase in CHECKED
        for file in (folder / phase).glob("*.py")
        if file.name not in {"slow.py", "patient.py"}
    }
    solutions = set((folder / "solutions").rglob("*.py"))
    assert ({exercise.file for exercise in EXERCISES}, {exercise.solution for exercise in EXERCISES}) == (
        files,
        solutions,
    )


@pytest.mark.parametrize("exercise", EXERCISES, ids=name)
def test_an_exercise_has_a_title_a_task_a_place_to_write_and_three_hints_that_grow(exercise: Exercise) -> None:
    assert re.fullmatch(r"[A-Z][^.?]*[.?]", exercise.title)
    assert len(exercise.task) > 200
    assert {"import jax", "import jax.numpy as jnp"} <= {*exercise.text.splitlines()}
    assert exercise.places != ()
    assert len(exercise.hints) == 3
    assert len(set(exercise.hints)) == 3


@pytest.mark.parametrize("exercise", EXERCISES, ids=name)
def test_a_solution_does_not_change_the_given_code(exercise: Exercise) -> None:
    open_places = {place.name for place in exercise.places}
    solved, unsolved = given(exercise.solution_text), given(exercise.text)
    unchanged_names = (solved.keys() & unsolved.keys()) - open_places
    assert {key: solved[key] for key in unchanged_names} == {key: unsolved[key] for key in unchanged_names}


@pytest.mark.parametrize("exercise", EXERCISES, ids=name)
def test_the_commands_in_an_exercise_work(exercise: Exercise) -> None:
    for command, file, _ in COMMAND.findall(exercise.task):
        path, _, function = file.partition(":")
        assert (ROOT / path).is_file()
        if command == "xla-inspect show":
            assert read_function(Request((f"{ROOT / path}:{function}",))).call is not None


def test_a_phase_is_found_by_its_name_or_its_number_however_it_is_written() -> None:
    assert find_exercises("3") == find_exercises("hlo") == find_exercises(" HLO ")
    assert find_exercises("6") == find_exercises("puzzles")
    assert find_exercises("7") == find_exercises("capstone")
    message = (
        r"no phase and no exercise is called '8'. The phases are basics, .*, or their numbers 1 to 7; the exercises"
    )
    with pytest.raises(InspectError, match=message):
        find_exercises("8")


def test_an_exercise_is_found_by_name_or_file_from_any_folder() -> None:
    file = BY_KEY["basics/mlp"].file
    spellings = [
        "basics/mlp",
        "mlp",
        "mlp.py",
        "./mlp.py",
        "../basics/mlp.py",
        str(file),
        "snippets\\practice\\basics\\mlp.py",
    ]
    assert {find_exercises(spelling) for spelling in spellings} == {(BY_KEY["basics/mlp"],)}
    assert find_exercises("compile-once") == (BY_KEY["basics/compile_once"],)
    assert find_exercises("all") == EXERCISES


def test_the_exercises_of_a_phase_fit_into_its_minutes_and_have_levels() -> None:
    assert {exercise.level for exercise in EXERCISES} <= {*range(1, LEVELS + 1)}
    for phase in PHASES.values():
        assert 0 < sum(exercise.minutes for exercise in find_exercises(phase.name)) < phase.minutes


def test_the_registry_and_the_command_start_without_jax() -> None:
    code = (
        "import sys; from xla_inspect.practice import EXERCISES; "
        "[each.places for each in EXERCISES]; print('jax' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert result.stdout == "False\n"


def test_the_jaxpr_of_the_exercise_matches_jaxs_output() -> None:
    task = BY_KEY["jaxpr/from_jaxpr"].task
    shown_code = "\n".join(line.removeprefix("    ") for line in task.splitlines() if line.startswith("    "))
    assert shown_code == str(jax.make_jaxpr(_normal)(X, W))


def test_the_program_of_six_kernels_and_a_copy_launches_these() -> None:
    task, exercise = BY_KEY["hlo/one_fusion"].task, load_file(BY_KEY["hlo/one_fusion"].file)
    lines = re.findall(r"^    ((?:y|return) .*)$", task, re.MULTILINE)
    scope: dict[str, object] = {"jnp": jax.numpy}
    exec("def numpy_way(x, w):\n    " + "\n    ".join(lines), scope)  # noqa: S102 - the two lines that the task shows
    program = capture(scope["numpy_way"], *exercise.EXAMPLE)  # type: ignore[arg-type]  # defined by the line above
    assert "launches six kernels and a copy" in task
    assert sorted(launch.role or "" for launch in list_launches(program)) == ["copy", *["kernel"] * 6]


def test_additions_are_neither_reordered_nor_cancelled_and_a_division_loses_its_rounding() -> None:
    task, x = BY_KEY["optimization/vanish"].task, jax.ShapeDtypeStruct((64, 128), jax.numpy.float32)
    assert "neither reorders nor cancels additions" in task
    assert "`x + 1 - 1` by `x`" in task
    for program in (lambda x: x + 1.0 - 1.0, lambda x: 1e8 + x + 1.0, lambda x: (x + 1e8) + (x - 1e8)):
        counts = [
            module_capture.opcode_counts()
            for module_capture in (capture(program, x).unoptimized_module, capture(program, x).module)
        ]
        sums = [count["add"] + count["subtract"] for count in counts]
        assert sums[0] == sums[1] > 1
    # So that it keeps all rounding would be too much to say.
    assert capture(lambda x: x / 127.5, x).module.opcode_counts()["divide"] == 0


def test_running_the_slow_model_prints_its_compiled_shapes() -> None:
    file = BY_KEY["capstone/model"].file.with_name("slow.py")
    result = subprocess.run([sys.executable, str(file)], check=True, capture_output=True, text=True)
    first, *shapes = result.stdout.splitlines()
    assert first == "step is compiled 5 times for pieces of these shapes:"
    assert shapes == [f"[{rows},128]" for rows in (64, 48, 33, 17, 5)]
