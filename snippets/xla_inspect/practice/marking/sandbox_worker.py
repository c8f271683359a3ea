"""The worker process in which exercises run; it marks one at a time, as its parent process requests.

The output and the errors of the reader's files reach the reader only through the verdict.
"""

from __future__ import annotations

import faulthandler
import io
import json
import logging
import os
import sys
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect.lazy_names import lazy_names
from xla_inspect.practice.marking.exercises import Exercise, name_file
from xla_inspect.practice.marking.submission import Submission, describe_exception
from xla_inspect.practice.marking.verdict import RIGHT, UNWRITTEN, WRONG, Remark, WrongError
from xla_inspect.practice.phases import PUZZLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from xla_inspect.practice.marking import (  # noqa: F401 - `_find_checks` imports them
        check_basics,
        check_capstone,
        check_diagnose,
        check_hlo,
        check_jaxpr,
        check_optimization,
        check_puzzles,
        check_transforms,
    )

_find_checks = lazy_names(__name__)
"""Function that returns the module of a phase's checks by its name, such as `check_hlo`."""

PRINTED = 5
"""The maximum number of stored lines of a file's output."""

WATCHED = ("builtins", "logging", "math", "numpy", "jax", "jax.lax", "jax.nn", "jax.numpy")
"""The modules whose functions a file could replace."""


class Noise(io.TextIOBase):
    """A text stream that counts the lines of a file's output and stores the first `PRINTED` of them.

    Args:
        file: The reader's file.

    Attributes:
        said: The stored lines, each after the number of the line of the file that printed it.
        count: The number of all lines.
    """

    def __init__(self, file: Path) -> None:
        """Start without any output."""
        super().__init__()
        self._file = str(file.absolute())
        self._current = ""
        self.said: list[str] = []
        self.count = 0

    def writable(self) -> bool:
        """Return True, since the stream accepts output."""
        return True

    def write(self, text: str, /) -> int:
        """Count the complete lines of a text, and store the first ones; return the length of the text."""
        self._current += text
        *whole, self._current = self._current.split("\n")
        for line in whole:
            self.count += 1
            if len(self.said) < PRINTED:
                self.said.append(f"{self._find_place()}{line[:120]}")
        # A file may print without ever ending a line, which must not fill the memory.
        self._current = self._current[:1000]
        return len(text)

    def _find_place(self) -> str:
        frame = sys._getframe(2)  # noqa: SLF001 - the only way to the callers without the cost of all their lines
        while frame is not None and frame.f_code.co_filename != self._file:
            frame = frame.f_back  # type: ignore[assignment]  # the outermost has none
        return f"line {frame.f_lineno}: " if frame is not None else ""


def main() -> None:
    """Read requests from the standard input, one JSON object per line, and answer each with a line of JSON."""
    # The descriptors are duplicated, so that the connection to the parent survives the redirection below.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    questions = os.fdopen(os.dup(0), encoding="utf-8")
    # Code that uses the file descriptors directly must not read requests or write into the answers.
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    from xla_inspect import targets

    targets.settle()
    _answer(answers, {"ready": True})
    for line in questions:
        request = json.loads(line)
        originals = Path(request["originals"])
        if (around := str(originals.parent)) not in sys.path:
            # The exercises import the supplied modules by names such as `practice.capstone.slow`.
            sys.path.insert(0, around)
        exercise = Exercise(request["phase"], request["name"], Path(request["folder"]), originals)
        with Path(request["stacks"]).open("w", encoding="utf-8") as stacks:
            # This works even if the code blocks in C, and the recorded stacks contain the line that was running.
            faulthandler.dump_traceback_later(request["limit"], exit=True, file=stacks)
            try:
                answer = examine(exercise)
            finally:
                faulthandler.cancel_dump_traceback_later()
        _answer(answers, answer)


def _answer(answers: io.TextIOBase | Any, content: dict[str, Any]) -> None:  # noqa: ANN401 - a text file
    answers.write(json.dumps(content) + "\n")
    answers.flush()


def examine(exercise: Exercise) -> dict[str, Any]:
    """Mark an exercise in this process, and return its verdict, remarks and printed lines as JSON data.

    `stained` is true if the file changed shared state, so that the next exercise needs a new process.
    """
    from xla_inspect import targets

    targets.settle()
    import jax

    # A function that an earlier exercise traced would otherwise not be traced or compiled again.
    jax.clear_caches()
    # The state is read before the file runs, because the comparison afterwards shows whether the file changed it.
    settings, names = _read_settings(), _read_names()
    noise = Noise(exercise.file)
    streams = sys.stdout, sys.stdin
    sys.stdout, sys.stdin = noise, io.StringIO()
    remarks: list[Remark] = []
    try:
        verdict = _check(exercise, remarks)
    finally:
        sys.stdout, sys.stdin = streams
    return {
        "verdict": verdict,
        "remarks": [asdict(remark) for remark in remarks],
        "printed": noise.said,
        "printed_lines": noise.count,
        # A new name, such as that of a lazily imported module, replaces nothing and is therefore harmless.
        "stained": settings != _read_settings()
        or any(names.get(name, value) is not value for name, value in _read_names().items()),
    }


def _read_settings() -> tuple[object, ...]:
    """Return the global settings that a file could change for later exercises."""
    import jax

    return dict(jax.config.values), dict(os.environ), logging.root.manager.disable, list(warnings.filters)


def _read_names() -> dict[tuple[str, str], object]:
    """Return the values of the names in the watched modules."""
    return {(module, name): value for module in WATCHED for name, value in vars(sys.modules[module]).items()}


def _check(exercise: Exercise, remarks: list[Remark]) -> str:
    """Run the check of an exercise, append its remarks to `remarks`, and return the verdict."""
    module = _find_checks(f"check_{exercise.phase}")
    # The puzzles share one check.
    name = "check" if exercise.phase == PUZZLES else f"check_{exercise.name}"
    check: Callable[[Submission], Iterator[Remark]] = getattr(module, name)
    try:
        for remark in check(Submission(exercise)):
            remarks.append(remark)  # noqa: PERF402 - those before an exception are kept
    except WrongError as error:
        remarks.append(error.remark)
    except NotImplementedError as error:
        remark_of_error = describe_exception(error, exercise.file)
        remarks.append(remark_of_error)
        # A library may raise NotImplementedError too, and then the exercise is wrong and not unwritten.
        if remark_of_error.text.startswith(f"{name_file(exercise.file)}:"):
            return UNWRITTEN
    except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 - the reader is told, whatever it is
        remarks.append(describe_exception(error, exercise.file))
    return RIGHT if all(remark.good for remark in remarks) else WRONG
