"""The cell magic `%%exercise`: mark what a cell of a notebook holds, in place of the file of the exercise."""

from __future__ import annotations

import atexit
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from xla_inspect.practice.checking.hands import Hands
from xla_inspect.practice.checking.runner import LIMIT, mark, report
from xla_inspect.practice.notebook import find_exercise
from xla_inspect.practice.terminal import open_paper

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
    if shell is not None and not shell.run_cell(text).success:
        return
    with tempfile.TemporaryDirectory(prefix="exercise-") as folder:
        written = replace(each, folder=Path(folder))
        written.file.parent.mkdir(parents=True)
        written.file.write_text(text, encoding="utf-8")
        report(written, mark(written, _hands()), open_paper())


def _hands() -> Hands:
    """Return the process that marks, started when it is first needed."""
    if not _started:
        _started.append(Hands(LIMIT))
        atexit.register(_started[0].__exit__)
    return _started[0]
