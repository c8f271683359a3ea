"""The scores of the puzzles on each target, for the table on their page."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from xla_inspect import targets
from xla_inspect.practice.marking.puzzles import PUZZLES, compile_puzzle
from xla_inspect.practice.notebook import CellMarkdown
from xla_inspect.report import markdown
from xla_inspect.targets import TARGETS, title

SHOWN = tuple(name for name in TARGETS if name in {"cpu", "h100", "tpu-v5e"})
"""The compared targets."""


@dataclass(frozen=True, slots=True)
class Score:
    """The scores of a puzzle's programs on one target.

    Attributes:
        name: The name of the puzzle.
        target: The target, with as many devices as the puzzle needs.
        start: The score of the original program.
        best: The score of the stored solution.
        bound: The lower bound, if one is known.
    """

    name: str
    target: str
    start: int
    best: int
    bound: int | None


def list_scores() -> list[Score]:
    """Return the scores of all puzzles on each target of `SHOWN` that this machine can compile for."""
    rows = []
    for name, puzzle in PUZZLES.items():
        module = importlib.import_module(f"practice.solutions.puzzles.{name}")
        for target in map(puzzle.place, SHOWN):
            # A machine without a compiler for a target still shows the scores of the others.
            if targets.find_target(target).obstacle:
                continue
            captures = [compile_puzzle(module, program, target) for program in ("start", "better")]
            start, best = map(puzzle.measure.take, captures)
            bound = puzzle.bound.score(captures[0]) if puzzle.bound else None
            rows.append(Score(name, target, start, best, bound))
    return rows


def score_table(scores: list[Score]) -> CellMarkdown:
    """Return a table with a row for each puzzle and target; the target on which a puzzle is marked is in bold."""
    rows = []
    for score in scores:
        puzzle = PUZZLES[score.name]
        target_title = title(score.target.partition(":")[0])
        rows.append(
            (
                f"[{markdown.code(score.name)}](#exercise-{score.name.replace('_', '-')})",
                f"**{target_title}**" if score.target == puzzle.choose_target() else target_title,
                f"{score.start:,}",
                f"{score.best:,}",
                "" if score.bound is None else f"{score.bound:,}",
                f"bytes {puzzle.measure.words}" if puzzle.measure.in_bytes else puzzle.measure.words,
            )
        )
    header = ["puzzle", "target", "start", "best known", "bound", "score"]
    return CellMarkdown(markdown.table(header, rows, numbers=[2, 3, 4]))
