"""The printed list of exercises with the reader's progress, their hints one by one, and their solutions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.installation import run_line
from xla_inspect.practice.marking.exercises import (
    ALL,
    EXERCISES,
    LEVELS,
    check_line,
    find_exercises,
    name_file,
    option_line,
)
from xla_inspect.practice.marking.logbook import Logbook

if TYPE_CHECKING:
    from pathlib import Path

    from xla_inspect.practice.marking.exercises import Exercise
    from xla_inspect.terminal import Paper

CELLS = 30
"""The length of the progress bar, in characters."""


def draw_bar(right: int, whole: int) -> str:
    """Return the number of right exercises as a progress bar and in digits."""
    filled = CELLS * right // max(whole, 1)
    return f"[{'#' * filled}{'-' * (CELLS - filled)}] {right} of {whole}"


def show_progress(paper: Paper, folder: Path | None = None) -> None:
    """Print a bar and the number of exercises that are right, out of all exercises."""
    paper.say(draw_bar(sum(map(Logbook(folder).is_right, find_exercises(ALL, folder))), len(EXERCISES)))


def list_exercises(paper: Paper, folder: Path | None = None) -> None:
    """Print all exercises (state, name, minutes, level and title), the progress, and the exercise to continue with."""
    logbook, exercises = Logbook(folder), find_exercises(ALL, folder)
    rows = [
        (
            logbook.find_state(exercise),
            exercise.key,
            exercise.minutes,
            exercise.level,
            exercise.title.rstrip("."),
        )
        for exercise in exercises
    ]
    paper.heading("The exercises")
    paper.say(f"Each exercise is a file in {name_file(exercises[0].folder)}. Levels range from 1 to {LEVELS}.")
    paper.table(("", "exercise", "about min", "level", "what to do"), rows, numbers=(2, 3))
    show_progress(paper, folder)
    if following := logbook.find_open(exercises):
        paper.say(f"Continue with {name_file(following.file)}. This command marks it each time you save it:")
        paper.show(option_line("--watch", following))
    else:
        tell_where_to_go(paper)


def show_hint(paper: Paper, name: str, folder: Path | None = None) -> None:
    """Print the hints of an exercise that were shown before and the next one, and record that it was shown.

    Raises:
        InspectError: There is no such exercise.
    """
    exercise = _choose(name, folder)
    logbook, hints = Logbook(folder), exercise.hints
    # After the last hint, the command shows all of the hints again.
    number = min(logbook.count_hints(exercise) + 1, len(hints))
    logbook.note_hints(exercise, number)
    paper.heading(f"{exercise.key}: hint {number} of {len(hints)}")
    for hint in hints[:number]:
        paper.item(hint)
    paper.say("")
    if number < len(hints):
        paper.say("Run the command again for one more hint:")
        paper.show(option_line("--hint", exercise))
    else:
        paper.say("There are no more hints. This command shows a solution:")
        paper.show(option_line("--solution", exercise))


def show_solution(paper: Paper, name: str, folder: Path | None = None) -> None:
    """Print the solution of an exercise and its lesson.

    Raises:
        InspectError: There is no such exercise, or its solution is missing.
    """
    from xla_inspect.practice.notebook import extract_solution

    exercise = _choose(name, folder)
    paper.heading(f"{exercise.key}: a solution")
    paper.show(extract_solution(exercise), "python")
    paper.say(exercise.learnt)
    if Logbook(folder).is_right(exercise):
        paper.say(
            "Your solution was right too. Compare them: where do they differ, and do they compile to the same program?"
        )
    else:
        paper.say(
            "Other programs can be right too, because only the compiled program counts. This command marks yours:"
        )
        paper.show(check_line(exercise.key, folder=exercise.folder))


def tell_where_to_go(paper: Paper) -> None:
    """Print what to do after the last exercise."""
    paper.say("You have finished the practice. Continue with your own program: this command steps through its passes.")
    paper.show(run_line("xla-inspect report FILE.py:FUNCTION"))


def _choose(name: str, folder: Path | None) -> Exercise:
    """Return the exercise of that name; of several, the first that is not right yet, or the first of all."""
    exercises = find_exercises(name, folder)
    return Logbook(folder).find_open(exercises) or exercises[0]
