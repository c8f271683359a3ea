"""The separate process for exercises, which starts on demand and restarts if a file ends it."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

from xla_inspect.errors import InspectError
from xla_inspect.practice.marking.exercises import name_file
from xla_inspect.practice.marking.verdict import WRONG, ExerciseVerdict, bad, read_remark
from xla_inspect.process import Child, explain_end, find_line

if TYPE_CHECKING:
    from xla_inspect.practice.marking.exercises import Exercise

START = 120.0
"""The time limit in seconds for starting the process, which imports JAX."""

GRACE = 10.0
"""The seconds after its limit in which a hanging process has to report the line where it hangs."""


class Sandbox:
    """A process that marks exercises one at a time.

    Args:
        limit: The maximum seconds for each exercise.
    """

    def __init__(self, limit: float) -> None:
        """Set the limit; the process starts later, on demand."""
        self._limit = limit
        self._process: Child | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="practice-", ignore_cleanup_errors=True)
        self._stacks = Path(self._folder.name) / "stacks"
        self._errors: IO[bytes] | None = None

    def __enter__(self) -> Self:
        """Return this sandbox."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process, and delete its temporary folder."""
        self._end()
        self._folder.cleanup()

    def warm(self) -> None:
        """Start the process now, so that the first exercise does not have to wait for it.

        Raises:
            InspectError: The process does not start.
        """
        if self._process is None:
            self._start()

    def mark(self, exercise: Exercise) -> ExerciseVerdict:
        """Return the verdict on an exercise, even if its file ends the process or runs too long.

        Raises:
            InspectError: The process does not start.
        """
        process = self._process or self._start()
        request = {
            "phase": exercise.phase,
            "name": exercise.name,
            "folder": str(exercise.folder.absolute()),
            "originals": str((exercise.originals or exercise.folder).absolute()),
            "limit": self._limit,
            "stacks": str(self._stacks),
        }
        process.send(json.dumps(request))
        # The worker stops a slow file itself and reports the line; this limit applies if it cannot.
        line = process.listen(self._limit + GRACE)
        if not line:
            return self._bury(process, exercise)
        answer = json.loads(line)
        # A file that changed shared state must not affect the next exercise.
        if answer["stained"]:
            self._end()
        return ExerciseVerdict(
            answer["verdict"],
            tuple(map(read_remark, answer["remarks"])),
            printed=tuple(answer["printed"]),
            printed_lines=answer["printed_lines"],
        )

    def _start(self) -> Child:
        self._errors = (Path(self._folder.name) / "errors").open("w+b")
        # Exercises use JAX's defaults on the CPU, whatever the shell sets, and Python writes no bytecode next to them.
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
        self._process = Child(
            [sys.executable, "-X", "utf8"],
            f"from {__package__}.sandbox_worker import main; main()",
            variables={**inherited, "JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1"},
            errors=self._errors,
        )
        if not self._process.listen(START):
            errors = self._read_errors()
            self._end()
            message = f"the process that runs exercises does not start: {errors or 'it said nothing'}"
            raise InspectError(message)
        return self._process

    def _bury(self, process: Child, exercise: Exercise) -> ExerciseVerdict:
        """Return the verdict on a file that ended the process or exceeded the time limit, and end the process."""
        file = name_file(exercise.file)
        stacks = self._stacks.read_text(encoding="utf-8", errors="replace") if self._stacks.is_file() else ""
        self._stacks.unlink(missing_ok=True)
        # The worker writes stacks only when the time limit has passed, so a file with stacks proves a slow exercise.
        late = process.process.poll() is None or bool(stacks)
        errors = self._read_errors()
        code = self._end()
        if late:
            line = find_line(stacks, exercise.file)
            place = f"{file}:{line}" if line else file
            text = f"{place}: it was still running after {self._limit:g} seconds; does a loop never end?"
            return ExerciseVerdict(
                WRONG, (bad(text, [exercise.text.splitlines()[line - 1].strip()] if line else (), "python"),)
            )
        text = f"{file}: it ended the process that ran it ({explain_end(code)})"
        return ExerciseVerdict(WRONG, (bad(text, errors.splitlines()[-4:]),))

    def _read_errors(self) -> str:
        if self._errors is None:
            return ""
        self._errors.flush()
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace").strip()[-2000:]

    def _end(self) -> int:
        process, self._process = self._process, None
        code = process.end() if process else 0
        if self._errors is not None:
            self._errors.close()
            self._errors = None
        return code
