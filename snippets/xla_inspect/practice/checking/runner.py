"""Mark exercises in a process beside this one, say what was found, and return what the command exits with."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING

from xla_inspect.errors import InspectError
from xla_inspect.practice.checking.exercises import EXERCISES, MARK, find_exercises, name_file
from xla_inspect.practice.checking.finding import RIGHT, UNWRITTEN, WRONG
from xla_inspect.practice.checking.hands import Hands, Verdict
from xla_inspect.practice.checking.written import describe
from xla_inspect.practice.phases import CHECKED
from xla_inspect.practice.progress import doing
from xla_inspect.practice.terminal import open_paper

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from xla_inspect.practice.checking.exercises import Exercise
    from xla_inspect.practice.terminal import Paper

LIMIT = 60.0
"""Seconds that an exercise may take, its compiles included; the slowest solution takes a few."""

STATUS = {RIGHT: 0, WRONG: 1, UNWRITTEN: 3}
"""What the command exits with; where several hold, something wrong outweighs something not yet written."""

USAGE = 2
"""What it exits with where no such phase exists."""


def run(phases: Sequence[str], folder: Path | None = None, limit: float = LIMIT, paper: Paper | None = None) -> int:
    """Mark the exercises of some phases, print what was found, and return the exit status.

    Args:
        phases: Names or numbers of phases; none for all.
        folder: The folder of the exercises, by default that of the clone.
        limit: Seconds that each exercise may take.
        paper: What to print on, by default the standard output.

    Returns:
        0 where all is right, 1 where something is wrong, else 3 where something is not yet written; 2 where there is
        no such phase.
    """
    paper = paper or open_paper()
    try:
        exercises = [each for phase in dict.fromkeys(phases or CHECKED) for each in find_exercises(phase, folder)]
    except InspectError as error:
        print(f"practice: {error}", file=sys.stderr)  # noqa: T201 - a command prints
        return USAGE
    if not any(each.file.parent.is_dir() for each in exercises):
        where = name_file(exercises[0].folder)
        print(  # noqa: T201 - a command prints
            f"practice: there are no exercises in {where}; they come with the project's repository, so clone it and "
            "run this there",
            file=sys.stderr,
        )
        return USAGE
    verdicts = []
    with ExitStack() as stack:
        hands = stack.enter_context(Hands(limit))
        for number, exercise in enumerate(exercises, 1):
            paper.heading(f"[{number} of {len(exercises)}] {exercise.key}: {_title(exercise)}")
            verdict = mark(exercise, hands)
            report(exercise, verdict, paper)
            verdicts.append((exercise, verdict))
    summarise(verdicts, paper)
    return max((STATUS[verdict.verdict] for _, verdict in verdicts), key=[0, 3, 1].index, default=0)


def _title(exercise: Exercise) -> str:
    try:
        return exercise.title
    except (SyntaxError, InspectError):
        return ""


def mark(exercise: Exercise, hands: Hands) -> Verdict:
    """Return what is to be said of an exercise; one that is not yet written, or is no Python, is not run."""
    try:
        places = exercise.places
    except SyntaxError as error:
        return Verdict(WRONG, (describe(error, exercise.file),))
    except (InspectError, ValueError) as error:
        return Verdict(WRONG, (describe(error, exercise.file),))
    if places:
        return Verdict(UNWRITTEN, (), places=places)
    with doing(f"running {exercise.key}"):
        return hands.mark(exercise)


def report(exercise: Exercise, verdict: Verdict, paper: Paper) -> None:
    """Print what was found in an exercise."""
    file = name_file(exercise.file)
    if verdict.verdict == UNWRITTEN:
        told = [f"{file}:{place.line} waits for {place.name}" for place in verdict.places]
        told = told or [finding.text for finding in verdict.findings]
        paper.verdict(f"not yet written: {', '.join(told)}", good=False)
        return
    paper.verdict(verdict.verdict, good=verdict.verdict == RIGHT)
    shown = [(f"{'' if each.good else 'WRONG: '}{each.text}", each.lines, each.language) for each in verdict.findings]
    if verdict.printed:
        number = verdict.printed_lines
        text = f"{file} prints {number} line{'s' * (number != 1)}; a check does not need it:"
        shown.append((text, verdict.printed, "text"))
    for text, lines, language in shown:
        paper.item(text)
        if lines:
            paper.show("\n".join(lines), language)
    if not (shown and shown[-1][1]):
        # A list ends without an empty line, and a listing with one.
        paper.show("")
    if verdict.verdict == WRONG:
        paper.say(f"Mend {file} and check again; three hints stand at its end.")


def summarise(verdicts: Sequence[tuple[Exercise, Verdict]], paper: Paper) -> None:
    """Print how many exercises are right, and which to go on with."""
    counts = Counter(verdict.verdict for _, verdict in verdicts)
    told = ((RIGHT, "right"), (WRONG, "wrong"), (UNWRITTEN, "not yet written"))
    text = ", ".join(f"{counts[kind]} {words}" for kind, words in told if counts[kind])
    paper.heading("All together")
    paper.verdict(f"{len(verdicts)} exercise{'s' * (len(verdicts) != 1)}: {text}.", good=counts[RIGHT] == len(verdicts))
    if counts[UNWRITTEN]:
        paper.say(
            f"In each file the task stands at the top, `{MARK}` marks the place, and three hints stand at the end."
        )
    order = [
        *(each for each, said in verdicts if said.verdict == WRONG),
        *(e for e, s in verdicts if s.verdict == UNWRITTEN),
    ]
    if order:
        paper.say(f"Go on with {name_file(order[0].file)}, and check it:")
        paper.show(f"uv run python -m xla_inspect.main --check {order[0].phase}")
    elif len(verdicts) == len(EXERCISES):
        paper.say("That is the whole practice.")
