"""What a reader asks for on the way: the exercises with what is done, a hint more each time, and a solution."""

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
"""How long the bar is."""


def draw_bar(done: int, whole: int) -> str:
    """Return how many of some exercises are right, as a bar and in numbers."""
    filled = CELLS * done // max(whole, 1)
    return f"[{'#' * filled}{'-' * (CELLS - filled)}] {done} of {whole}"


def show_progress(paper: Paper, folder: Path | None = None) -> None:
    """Print how many of all exercises are right."""
    logbook = Logbook(folder)
    paper.say(draw_bar(sum(map(logbook.is_right, EXERCISES)), len(EXERCISES)))


def list_exercises(paper: Paper, folder: Path | None = None) -> None:
    """Print all exercises: whether each was right, its file, its minutes, its level and its title."""
    logbook, exercises = Logbook(folder), find_exercises(ALL, folder)
    rows = [
        ("right" if logbook.is_right(each) else "", each.key, each.minutes, each.level, each.title.rstrip("."))
        for each in exercises
    ]
    paper.heading("The exercises")
    paper.say(f"Each is a file of {name_file(exercises[0].folder)}; levels are from 1 to {LEVELS}.")
    paper.table(("", "exercise", "about min", "level", "what to do"), rows, numbers=(2, 3))
    show_progress(paper, folder)
    if following := logbook.find_open(exercises):
        paper.say(f"Go on with {name_file(following.file)}. This marks it each time you save it:")
        paper.show(option_line("--watch", following))
    else:
        tell_where_to_go(paper)


def show_hint(paper: Paper, called: str, folder: Path | None = None) -> None:
    """Print the hints of an exercise that were shown before, and one more.

    Raises:
        InspectError: There is no such exercise.
    """
    exercise = _choose(called, folder)
    logbook, hints = Logbook(folder), exercise.hints
    number = min(logbook.count_hints(exercise) + 1, len(hints))
    logbook.note_hints(exercise, number)
    paper.heading(f"{exercise.key}: hint {number} of {len(hints)}")
    for hint in hints[:number]:
        paper.item(hint)
    paper.say("")
    if number < len(hints):
        paper.say("Asked again, this shows one more:")
        paper.show(option_line("--hint", exercise))
    else:
        paper.say("These are all. A solution is shown by")
        paper.show(option_line("--solution", exercise))


def show_solution(paper: Paper, called: str, folder: Path | None = None) -> None:
    """Print the solution of an exercise.

    Raises:
        InspectError: There is no such exercise, or its solution was removed.
    """
    from xla_inspect.practice.notebook import extract_solution

    exercise = _choose(called, folder)
    paper.heading(f"{exercise.key}: a solution")
    paper.show(extract_solution(exercise), "python")
    paper.say(exercise.learnt)
    if Logbook(folder).is_right(exercise):
        paper.say(
            "Yours was right too. Compare them: what is done in another way, and does it compile to another program?"
        )
    else:
        paper.say("Other programs are right too: what counts is what the compiler makes of yours. This marks it:")
        paper.show(check_line(exercise.key, folder=exercise.folder))


def tell_where_to_go(paper: Paper) -> None:
    """Print where to go on after the last exercise."""
    paper.say("That is the whole practice. Go on with a program of your own: this steps through its passes.")
    paper.show(run_line("xla-inspect report FILE.py:FUNCTION"))


def _choose(called: str, folder: Path | None) -> Exercise:
    """Return the exercise that is called so; of several, the first that was not right yet."""
    exercises = find_exercises(called, folder)
    return Logbook(folder).find_open(exercises) or exercises[0]
