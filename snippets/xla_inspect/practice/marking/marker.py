"""Mark exercises in a process beside this one, say what was found, and return what the command exits with."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from xla_inspect.errors import InspectError
from xla_inspect.plural import plural
from xla_inspect.practice.command import USAGE
from xla_inspect.practice.marking import hints
from xla_inspect.practice.marking.exercises import (
    ALL,
    EXERCISES,
    MARK,
    check_line,
    find_exercises,
    name_file,
    option_line,
)
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
"""Seconds that an exercise may take, its compiles included; the slowest solution takes a few."""

STATUS = {RIGHT: 0, WRONG: 1, UNWRITTEN: 3}
"""What the command exits with; where several hold, something wrong outweighs something not yet written."""


def run_marking(
    names: Sequence[str], folder: Path | None = None, limit: float = LIMIT, paper: Paper | None = None
) -> int:
    """Mark some exercises, print what was found, and return the exit status.

    Args:
        names: Phases and exercises, as `find_exercises` takes them; none for all.
        folder: The folder of the exercises, by default `FOLDER`.
        limit: Seconds that each exercise may take.
        paper: What to print on, by default the standard output.

    Returns:
        0 where all is right, 1 where something is wrong, else 3 where something is not yet written; 2 where there is
        nothing that is called so.
    """
    paper = paper or open_paper()
    try:
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
    return max((STATUS[verdict.verdict] for _, verdict in verdicts), key=[0, 3, 1].index, default=0)


def mark_and_report(exercise: Exercise, sandbox: Sandbox, paper: Paper, logbook: Logbook) -> ExerciseVerdict:
    """Mark an exercise, print what was found, note whether it is right, and return what is said of it."""
    verdict = mark(exercise, sandbox)
    logbook.note(exercise, verdict.verdict)
    report(exercise, verdict, paper)
    return verdict


def mark(exercise: Exercise, sandbox: Sandbox) -> ExerciseVerdict:
    """Return what is to be said of an exercise; one that is not yet written, or is no Python, is not run."""
    try:
        places = exercise.places
    except (InspectError, SyntaxError, ValueError) as error:
        return ExerciseVerdict(WRONG, (describe_exception(error, exercise.file),))
    if places:
        return ExerciseVerdict(UNWRITTEN, (), places=places)
    with doing(f"running {exercise.key}"):
        verdict = sandbox.mark(exercise)
    left = [
        good(f"{name_file(exercise.file)}:{place.line} still raises, below the answer of `{place.name}`; delete it")
        for place in exercise.leftovers
    ]
    return replace(verdict, remarks=(*verdict.remarks, *left))


def report(exercise: Exercise, verdict: ExerciseVerdict, paper: Paper, *, cell: bool = False) -> None:
    """Print what is said of an exercise.

    Args:
        exercise: The exercise.
        verdict: What is said of it.
        paper: What to print on.
        cell: Whether its file holds the cell of a notebook, which is then named so.
    """
    file = name_file(exercise.file)
    name = "cell" if cell else file
    if verdict.verdict == UNWRITTEN:
        places = [f"{name}:{place.line} waits for {place.name}" for place in verdict.places]
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
        text = f"{file} prints {plural(number, 'line')}; a check does not need it:"
        items.append((text, verdict.printed, "text"))
    for text, lines, language in items:
        paper.item(text.replace(file, name))
        if lines:
            paper.show("\n".join(lines), language)
    if not (items and items[-1][1]):
        # A list ends without an empty line, and a listing with one.
        paper.show("")
    if verdict.verdict == RIGHT and exercise.learnt:
        paper.say(f"Learnt: {exercise.learnt}")
    if verdict.verdict == WRONG and cell:
        paper.say("Mend the cell and check again; three hints stand below it.")
    elif verdict.verdict == WRONG:
        paper.say(f"Mend {file} and check again. A hint, and one more each time:")
        paper.show(option_line("--hint", exercise))


def summarise(verdicts: Sequence[tuple[Exercise, ExerciseVerdict]], paper: Paper) -> None:
    """Print how many exercises are right, and which to go on with."""
    counts = Counter(verdict.verdict for _, verdict in verdicts)
    words_by_kind = ((RIGHT, "right"), (WRONG, "wrong"), (UNWRITTEN, "not yet written"))
    text = ", ".join(f"{counts[kind]} {words}" for kind, words in words_by_kind if counts[kind])
    paper.heading("All together")
    paper.verdict(f"{plural(len(verdicts), 'exercise')}: {text}.", good=counts[RIGHT] == len(verdicts))
    if counts[UNWRITTEN]:
        paper.say(
            f"In each file the task stands at the top, and `{MARK}` marks the place; `--hint` with the name of an "
            "exercise shows a hint, and one more each time."
        )
    folder = verdicts[-1][0].folder
    hints.show_progress(paper, folder)
    order = [exercise for kind in (WRONG, UNWRITTEN) for exercise, verdict in verdicts if verdict.verdict == kind]
    if order:
        paper.say(f"Go on with {name_file(order[0].file)}, and check it:")
        paper.show(check_line(order[0].key, folder=order[0].folder))
        return
    keys = [exercise.key for exercise in EXERCISES]
    later = EXERCISES[keys.index(verdicts[-1][0].key) + 1 :]
    # What comes next; after the last, what was left out before.
    following = Logbook(folder).find_open((*later, *EXERCISES))
    if following is None:
        hints.tell_where_to_go(paper)
        return
    paper.say(f"Go on with {name_file(replace(following, folder=folder).file)}, and check it:")
    paper.show(check_line(following.key, folder=folder))
