"""Marking of exercises in a separate process, with the printed results and the exit status of the command."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from xla_inspect.errors import InspectError
from xla_inspect.plural import plural
from xla_inspect.practice.command import USAGE
from xla_inspect.practice.marking import hints
from xla_inspect.practice.marking.exercises import ALL, MARK, check_line, find_exercises, name_file, option_line
from xla_inspect.practice.marking.logbook import Logbook
from xla_inspect.practice.marking.sandbox import Sandbox
from xla_inspect.practice.marking.submission import describe_exception
from xla_inspect.practice.marking.verdict import RIGHT, UNWRITTEN, WRONG, ExerciseVerdict, good
from xla_inspect.practice.progress import doing
from xla_inspect.terminal import open_paper

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from xla_inspect.practice.marking.exercises import Exercise
    from xla_inspect.terminal import Paper

LIMIT = 60.0
"""The maximum seconds for an exercise, including compilation; the slowest solution takes a few seconds."""

STATUS = {RIGHT: 0, WRONG: 1, UNWRITTEN: 3}
"""The exit status for each verdict; a wrong exercise outweighs one that is not written yet."""


def run_marking(
    names: Sequence[str], folder: Path | None = None, limit: float = LIMIT, paper: Paper | None = None
) -> int:
    """Mark some exercises, print the results, and return the exit status.

    Args:
        names: Phases and exercises, as in `find_exercises`; none for all.
        folder: The folder of the exercises, by default `FOLDER`.
        limit: The maximum seconds for each exercise.
        paper: The output, by default the standard output.

    Returns:
        0 if all exercises are right, 1 if any is wrong, else 3 if any is not written yet; 2 if there is no exercise of
        that name, or the folder has no exercises.
    """
    paper = paper or open_paper()
    try:
        # A phase and one of its exercises may both be requested, but each exercise is marked once.
        exercises = [*dict.fromkeys(exercise for name in names or (ALL,) for exercise in find_exercises(name, folder))]
    except InspectError as error:
        print(f"practice: {error}", file=sys.stderr)  # noqa: T201 - a command prints
        return USAGE
    if not any(exercise.file.parent.is_dir() for exercise in exercises):
        where = name_file(exercises[0].folder)
        print(  # noqa: T201 - a command prints
            f"practice: there are no exercises in {where}; they come with the project's repository, so clone it and "
            "run this there, or name their folder with --exercises",
            file=sys.stderr,
        )
        return USAGE
    verdicts = []
    logbook = Logbook(folder)
    with Sandbox(limit) as sandbox:
        for number, exercise in enumerate(exercises, 1):
            paper.heading(f"[{number} of {len(exercises)}] {exercise.key}: {exercise.safe_title}")
            verdicts.append((exercise, mark_and_report(exercise, sandbox, paper, logbook)))
    summarise(verdicts, paper)
    # The list orders the statuses by importance, since the status of an unwritten file is larger than that of a wrong
    # one.
    return max((STATUS[verdict.verdict] for _, verdict in verdicts), key=[0, 3, 1].index, default=0)


def mark_and_report(exercise: Exercise, sandbox: Sandbox, paper: Paper, logbook: Logbook) -> ExerciseVerdict:
    """Mark an exercise, print and record the result, and return it."""
    verdict = mark(exercise, sandbox)
    logbook.note(exercise, verdict.verdict)
    report(exercise, verdict, paper)
    return verdict


def mark(exercise: Exercise, sandbox: Sandbox) -> ExerciseVerdict:
    """Return the verdict on an exercise, which is not run if it is not written yet or is not valid Python."""
    try:
        places = exercise.places
    except (InspectError, SyntaxError, ValueError) as error:
        return ExerciseVerdict(WRONG, (describe_exception(error, exercise.file),))
    # Running an unfinished file would only raise an error, so the process need not start.
    if places:
        return ExerciseVerdict(UNWRITTEN, (), places=places)
    with doing(f"running {exercise.key}"):
        verdict = sandbox.mark(exercise)
    leftovers = [
        # An unreachable line changes nothing in the program, so the remark about it does not make the exercise wrong.
        good(f"{name_file(exercise.file)}:{place.line} still raises below your code in `{place.name}`; delete it")
        for place in exercise.leftovers
    ]
    return replace(verdict, remarks=(*verdict.remarks, *leftovers))


def report(exercise: Exercise, verdict: ExerciseVerdict, paper: Paper, *, cell: bool = False) -> None:
    """Print the verdict on an exercise.

    Args:
        exercise: The exercise.
        verdict: The verdict with its remarks.
        paper: The output.
        cell: Whether its file contains the cell of a notebook, which is then called a cell.
    """
    file = name_file(exercise.file)
    name = "cell" if cell else file
    if verdict.verdict == UNWRITTEN:
        places = [f"{name}:{place.line} needs {place.name}" for place in verdict.places]
        paper.verdict(
            f"not yet written: {', '.join(places or [remark.text for remark in verdict.remarks])}", good=False
        )
        return
    paper.verdict(verdict.verdict, good=verdict.verdict == RIGHT)
    items = [
        (f"{'' if remark.good else 'WRONG: '}{remark.text}", remark.lines, remark.language)
        for remark in verdict.remarks
    ]
    if verdict.printed:
        number = verdict.printed_lines
        text = f"{file} prints {plural(number, 'line')}, which the check does not need:"
        items.append((text, verdict.printed, "text"))
    for text, lines, language in items:
        paper.item(text.replace(file, name))
        if lines:
            paper.show("\n".join(lines), language)
    if not (items and items[-1][1]):
        # A list ends without an empty line, but a listing ends with one.
        paper.show("")
    if verdict.verdict == RIGHT and exercise.learnt:
        paper.say(f"Lesson: {exercise.learnt}")
    if verdict.verdict == WRONG and cell:
        paper.say("Fix the cell and check again. Three hints are below it.")
    elif verdict.verdict == WRONG:
        paper.say(f"Fix {file} and check again. This command shows a hint, and one more each time:")
        paper.show(option_line("--hint", exercise))


def summarise(verdicts: Sequence[tuple[Exercise, ExerciseVerdict]], paper: Paper) -> None:
    """Print the number of right exercises, and the exercise to continue with."""
    counts = Counter(verdict.verdict for _, verdict in verdicts)
    words_by_kind = ((RIGHT, "right"), (WRONG, "wrong"), (UNWRITTEN, "not yet written"))
    text = ", ".join(f"{counts[kind]} {words}" for kind, words in words_by_kind if counts[kind])
    paper.heading("Summary")
    paper.verdict(f"{plural(len(verdicts), 'exercise')}: {text}.", good=counts[RIGHT] == len(verdicts))
    if counts[UNWRITTEN]:
        paper.say(
            f"The task is at the top of each file, and `{MARK}` marks the place for your code. `--hint` with the name "
            "of an exercise shows a hint, and one more each time."
        )
    folder = verdicts[-1][0].folder
    hints.show_progress(paper, folder)
    order = [exercise for kind in (WRONG, UNWRITTEN) for exercise, verdict in verdicts if verdict.verdict == kind]
    if order:
        paper.say(f"Continue with {name_file(order[0].file)}, and check it:")
        paper.show(check_line(order[0].key, folder=order[0].folder))
        return
    exercises = find_exercises(ALL, folder)
    keys = [exercise.key for exercise in exercises]
    later = exercises[keys.index(verdicts[-1][0].key) + 1 :]
    # The next exercise is a later one, or after the last one an earlier one that was skipped.
    following = Logbook(folder).find_open((*later, *exercises))
    if following is None:
        hints.tell_where_to_go(paper)
        return
    paper.say(f"Continue with {name_file(following.file)}, and check it:")
    paper.show(check_line(following.key, folder=folder))
