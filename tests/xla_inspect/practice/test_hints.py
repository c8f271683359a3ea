"""Hints one by one, a solution on request, and a list of solved exercises."""

from __future__ import annotations

import io
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from planting import BY_KEY, solve

from xla_inspect.errors import InspectError
from xla_inspect.practice.marking import hints
from xla_inspect.practice.marking.exercises import EXERCISES
from xla_inspect.practice.marking.logbook import Logbook
from xla_inspect.practice.marking.verdict import RIGHT
from xla_inspect.terminal import Paper

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def say(show: Callable[..., None], *arguments: object) -> str:
    stream = io.StringIO()
    show(Paper(stream), *arguments)
    return " ".join(stream.getvalue().split())


def test_each_call_gives_one_more_hint_and_the_last_names_the_solution(folder: Path) -> None:
    texts = BY_KEY["hlo/donate"].hints
    for count in (1, 2, 3, 3):
        output = say(hints.show_hint, "donate", folder)
        assert f"hlo/donate: hint {count} of 3" in output
        assert [hint in output for hint in texts] == [at < count for at in range(3)]
        assert ("--solution hlo/donate" in output, "--hint hlo/donate" in output) == (count == 3, count < 3)
        assert f"--exercises {folder}" in output


def test_a_hint_for_a_phase_belongs_to_its_next_exercise(folder: Path) -> None:
    Logbook(folder).note(BY_KEY["hlo/read_dump"], RIGHT)
    assert "hlo/one_fusion: hint 1 of 3" in say(hints.show_hint, "hlo", folder)
    with pytest.raises(InspectError, match="did you mean donate"):
        hints.show_hint(Paper(io.StringIO()), "donat", folder)


def test_a_solution_shows_its_code_and_its_lesson(folder: Path) -> None:
    output = say(hints.show_solution, "basics/mlp", folder)
    assert "return hidden @ params.w2 + params.b2" in output
    assert BY_KEY["basics/mlp"].learnt in output
    assert "--check basics/mlp" in output
    Logbook(folder).note(BY_KEY["basics/mlp"], RIGHT)
    assert "Your solution was right too" in say(hints.show_solution, "basics/mlp", folder)


def test_the_list_shows_every_exercise_its_state_and_the_next_one(folder: Path) -> None:
    Logbook(folder).note(BY_KEY["basics/mlp"], RIGHT)
    output = say(hints.list_exercises, folder)
    for exercise in EXERCISES:
        state = "right " if exercise.key == "basics/mlp" else ""
        assert f" {state}{exercise.key} {exercise.minutes} {exercise.level} {exercise.title.rstrip('.')}" in output
    assert output.count(" right ") == 1 + output.count(" right.")
    assert f"] 1 of {len(EXERCISES)} " in output
    assert "Continue with " in output
    assert "--watch basics/gradient" in output


def test_the_list_shows_a_restored_original_file_as_changed(folder: Path) -> None:
    solve(folder)
    exercise = replace(BY_KEY["basics/mlp"], folder=folder)
    Logbook(folder).note(exercise, RIGHT)
    assert " right basics/mlp " in say(hints.list_exercises, folder)
    shutil.copy(BY_KEY["basics/mlp"].file, exercise.file)
    output = say(hints.list_exercises, folder)
    assert (" changed basics/mlp " in output, "] 0 of " in output, "--watch basics/mlp" in output) == (True,) * 3


def test_the_list_gives_next_steps_when_all_are_right(folder: Path) -> None:
    for exercise in EXERCISES:
        Logbook(folder).note(exercise, RIGHT)
    output = say(hints.list_exercises, folder)
    assert f"[{'#' * hints.CELLS}] {len(EXERCISES)} of {len(EXERCISES)}" in output
    assert output.endswith("uv run xla-inspect report FILE.py:FUNCTION")


def test_a_bar_is_as_full_as_the_work_is_done() -> None:
    assert hints.draw_bar(0, 4) == f"[{'-' * 30}] 0 of 4"
    assert hints.draw_bar(2, 4) == f"[{'#' * 15}{'-' * 15}] 2 of 4"


def test_a_folder_without_hints_gets_those_of_the_project(folder: Path) -> None:
    shutil.rmtree(folder / "hints")
    assert BY_KEY["basics/mlp"].hints[0] in say(hints.show_hint, "mlp", folder)
