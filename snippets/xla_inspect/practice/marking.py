"""The cell magic `%%exercise`: mark what a cell of a notebook holds, in place of the file of the exercise."""

from __future__ import annotations

import atexit
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect.practice.checking.exercises import name_file
from xla_inspect.practice.checking.finding import RIGHT, UNWRITTEN, WRONG
from xla_inspect.practice.checking.hands import Hands
from xla_inspect.practice.checking.runner import LIMIT, mark
from xla_inspect.practice.notebook import find_exercise
from xla_inspect.practice.terminal import open_paper

if TYPE_CHECKING:
    from xla_inspect.practice.checking.exercises import Exercise
    from xla_inspect.practice.checking.hands import Verdict
    from xla_inspect.practice.terminal import Paper

_started: list[Hands] = []


def load_ipython_extension(shell: Any) -> None:  # noqa: ANN401 - IPython's
    """Add the magic, as `%load_ext xla_inspect.practice.marking` asks."""

    def exercise(line: str, cell: str) -> None:
        """Run the cell, and mark it as the exercise that the line names."""
        mark_cell(line.strip(), cell, shell)

    shell.register_magic_function(exercise, magic_kind="cell", magic_name="exercise")


def mark_cell(key: str, text: str, shell: Any = None) -> None:  # noqa: ANN401 - IPython's shell
    """Mark a text as an exercise: no file of the reader's is read or written.

    Args:
        key: The exercise, such as `basics/mlp`.
        text: What the reader wrote.
        shell: Where the names that the text defines are to be known, if anywhere.

    Raises:
        InspectError: There is no such exercise.
    """
    each = find_exercise(key)
    with tempfile.TemporaryDirectory(prefix="exercise-") as folder:
        written = replace(each, folder=Path(folder))
        written.file.parent.mkdir(parents=True)
        # The magic is the first line of the cell.
        written.file.write_text(f"\n{text}", encoding="utf-8")
        if _is_unwritten(written) or shell is None or shell.run_cell(text).success:
            report(written, mark(written, _hands()), open_paper())


def _is_unwritten(written: Exercise) -> bool:
    """Return whether something is still to be written, so that running the text would only raise."""
    try:
        return bool(written.places)
    except SyntaxError:
        return False


def report(exercise: Exercise, verdict: Verdict, paper: Paper) -> None:
    """Print what was found in a cell; its lines are counted as a notebook counts them."""
    file = name_file(exercise.file)
    if verdict.verdict == UNWRITTEN:
        places = ", ".join(f"{place.name} in line {place.line}" for place in verdict.places)
        paper.verdict(f"not yet written: {places or exercise.key}", good=False)
        return
    paper.verdict(verdict.verdict, good=verdict.verdict == RIGHT)
    for finding in verdict.findings:
        paper.item(f"{'' if finding.good else 'WRONG: '}{finding.text.replace(file, 'cell')}")
        if finding.lines:
            paper.show("\n".join(finding.lines), finding.language)
    if verdict.printed:
        paper.item(f"the cell prints, {verdict.printed_lines} lines in all; a check does not need it:")
        paper.show("\n".join(verdict.printed))
    if verdict.verdict == WRONG:
        paper.item("Mend the cell and run it again; three hints stand below it.")


def _hands() -> Hands:
    """Return the process that marks, started when it is first needed."""
    if not _started:
        _started.append(Hands(LIMIT))
        atexit.register(_started[0].__exit__)
    return _started[0]
