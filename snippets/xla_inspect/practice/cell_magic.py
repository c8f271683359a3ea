"""The cell magic `%%exercise`, which marks the content of a notebook cell instead of the exercise's file."""

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
    """Register the magic; `%load_ext xla_inspect.practice.cell_magic` calls this function."""

    def exercise(line: str, cell: str) -> None:
        """Mark the cell as the exercise whose key is on the magic's line."""
        mark_cell(line.strip(), cell, shell)

    shell.register_magic_function(exercise, magic_kind="cell", magic_name="exercise")


def mark_cell(key: str, text: str, shell: Any = None) -> None:  # noqa: ANN401 - IPython's shell
    """Mark a text as an exercise, print the verdict, and record whether it is right, without using the exercise's file.

    A text that fails in the shell is not marked. An unfinished text is not recorded, so running a notebook from the top
    does not reset the reader's progress.

    Args:
        key: The exercise, such as `basics/mlp`.
        text: The reader's code.
        shell: The IPython shell in which to define the names of the text, if any.

    Raises:
        InspectError: There is no such exercise.
    """
    exercise = find_exercise(key)
    with tempfile.TemporaryDirectory(prefix="exercise-") as folder:
        # The checks read the submission from a file, and a temporary folder keeps the reader's own file unchanged.
        submitted = replace(exercise, folder=Path(folder), originals=exercise.folder)
        submitted.file.parent.mkdir(parents=True)
        # The magic occupies the first line of the cell, so an empty line keeps line numbers in messages right.
        submitted.file.write_text(f"\n{text}", encoding="utf-8")
        if _is_unwritten(submitted) or shell is None or shell.run_cell(text).success:
            verdict = mark(submitted, _sandbox())
            if verdict.verdict != UNWRITTEN:
                Logbook().note(exercise, verdict.verdict, cell=True)
            report(submitted, verdict, open_paper(), cell=True)


def _is_unwritten(submitted: Exercise) -> bool:
    """Return whether the text is valid Python with a placeholder left, so that running it would raise an error."""
    try:
        return bool(submitted.places)
    except SyntaxError:
        # The shell reports invalid syntax when it runs the text.
        return False


def _sandbox() -> Sandbox:
    """Return the marking process, which is created at the first use."""
    if not _started:
        _started.append(Sandbox(LIMIT))
        atexit.register(_started[0].__exit__)
    return _started[0]
