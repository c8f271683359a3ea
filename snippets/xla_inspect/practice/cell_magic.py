"""The cell magic `%%exercise`: mark what a cell of a notebook holds, in place of the file of the exercise."""

from __future__ import annotations

import atexit
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect.practice.marking.logbook import Logbook
from xla_inspect.practice.marking.marker import LIMIT, mark, report
from xla_inspect.practice.marking.sandbox import Sandbox
from xla_inspect.practice.marking.verdict import UNWRITTEN
from xla_inspect.practice.notebook import find_exercise
from xla_inspect.terminal import open_paper

if TYPE_CHECKING:
    from xla_inspect.practice.marking.exercises import Exercise

_started: list[Sandbox] = []


def load_ipython_extension(shell: Any) -> None:  # noqa: ANN401 - IPython's
    """Add the magic, as `%load_ext xla_inspect.practice.cell_magic` asks."""

    def exercise(line: str, cell: str) -> None:
        """Run the cell, and mark it as the exercise that the line names."""
        mark_cell(line.strip(), cell, shell)

    shell.register_magic_function(exercise, magic_kind="cell", magic_name="exercise")


def mark_cell(key: str, text: str, shell: Any = None) -> None:  # noqa: ANN401 - IPython's shell
    """Mark a text as an exercise, and note whether it is right; no other file of the reader's is read or written.

    A text that is not written yet is not noted, so that a notebook that runs from the top undoes nothing.

    Args:
        key: The exercise, such as `basics/mlp`.
        text: What the reader wrote.
        shell: Where the names that the text defines are to be known, if anywhere.

    Raises:
        InspectError: There is no such exercise.
    """
    exercise = find_exercise(key)
    with tempfile.TemporaryDirectory(prefix="exercise-") as folder:
        submitted = replace(exercise, folder=Path(folder), originals=exercise.folder)
        submitted.file.parent.mkdir(parents=True)
        # The magic is the first line of the cell.
        submitted.file.write_text(f"\n{text}", encoding="utf-8")
        if _is_unwritten(submitted) or shell is None or shell.run_cell(text).success:
            verdict = mark(submitted, _sandbox())
            if verdict.verdict != UNWRITTEN:
                Logbook().note(exercise, verdict.verdict)
            report(submitted, verdict, open_paper(), cell=True)


def _is_unwritten(submitted: Exercise) -> bool:
    """Return whether something is still to be written, so that running the text would only raise."""
    try:
        return bool(submitted.places)
    except SyntaxError:
        return False


def _sandbox() -> Sandbox:
    """Return the process that marks, started when it is first needed."""
    if not _started:
        _started.append(Sandbox(LIMIT))
        atexit.register(_started[0].__exit__)
    return _started[0]
