"""The process in which exercises run: it marks one after the other, as the process beside it asks.

What the reader's files print, read or break here reaches nobody but the reader, by way of the verdict.
"""

from __future__ import annotations

import faulthandler
import importlib
import io
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect.practice.checking.exercises import Exercise, name_file
from xla_inspect.practice.checking.finding import RIGHT, UNWRITTEN, WRONG, Finding, WrongError
from xla_inspect.practice.checking.written import Written, describe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PRINTED = 5
"""The most lines that are kept of what a file prints."""


class Noise(io.TextIOBase):
    """Takes what a file prints, and notes where it does.

    Args:
        file: The reader's file.
    """

    def __init__(self, file: Path) -> None:
        """Start with nothing printed."""
        super().__init__()
        self._file = str(file.absolute())
        self._current = ""
        self.said: list[str] = []
        self.count = 0

    def writable(self) -> bool:
        """Return that it can be written to."""
        return True

    def write(self, text: str, /) -> int:
        """Note the first lines, each with the line of the file that printed it."""
        self._current += text
        *whole, self._current = self._current.split("\n")
        for line in whole:
            self.count += 1
            if len(self.said) < PRINTED:
                self.said.append(f"{self._find_place()}{line[:120]}")
        self._current = self._current[:1000]
        return len(text)

    def _find_place(self) -> str:
        frame = sys._getframe(2)  # noqa: SLF001 - the only way to the callers without the cost of all their lines
        while frame is not None and frame.f_code.co_filename != self._file:
            frame = frame.f_back  # type: ignore[assignment]  # the outermost has none
        return f"line {frame.f_lineno}: " if frame is not None else ""


def main() -> None:
    """Mark what the standard input asks for, a line of JSON each, and answer likewise, until there is no more."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    questions = os.fdopen(os.dup(0), encoding="utf-8")
    # Whoever reads or prints past Python does so elsewhere.
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    from xla_inspect.capture import targets

    targets.settle()
    _answer(answers, {"ready": True})
    for line in questions:
        asked = json.loads(line)
        if (around := str(Path(asked["folder"]).parent)) not in sys.path:
            # The exercises import what is given to them as `practice.capstone.slow`.
            sys.path.insert(0, around)
        exercise = Exercise(asked["phase"], asked["name"], Path(asked["folder"]))
        with Path(asked["stacks"]).open("w", encoding="utf-8") as stacks:
            faulthandler.dump_traceback_later(asked["limit"], exit=True, file=stacks)
            try:
                found = mark(exercise)
            finally:
                faulthandler.cancel_dump_traceback_later()
        _answer(answers, found)


def _answer(answers: io.TextIOBase | Any, found: dict[str, Any]) -> None:  # noqa: ANN401 - a text file
    answers.write(json.dumps(found) + "\n")
    answers.flush()


def mark(exercise: Exercise) -> dict[str, Any]:
    """Return what is to be said of an exercise: the verdict, the findings, and what the file printed.

    `stained` says that the file changed settings of JAX, so that the next exercise needs a process of its own.
    """
    import jax

    jax.clear_caches()
    settings = dict(jax.config.values)
    noise = Noise(exercise.file)
    kept = sys.stdout, sys.stdin
    sys.stdout, sys.stdin = noise, io.StringIO()
    findings: list[Finding] = []
    try:
        verdict = _check(exercise, findings)
    finally:
        sys.stdout, sys.stdin = kept
    return {
        "verdict": verdict,
        "findings": [asdict(finding) for finding in findings],
        "printed": noise.said,
        "printed_lines": noise.count,
        "stained": settings != dict(jax.config.values),
    }


def _check(exercise: Exercise, findings: list[Finding]) -> str:
    """Collect the findings, and return the verdict."""
    module = importlib.import_module(f"{__package__}.{exercise.phase}")
    check: Callable[[Written], Iterator[Finding]] = getattr(module, f"check_{exercise.name}")
    try:
        for finding in check(Written(exercise)):
            findings.append(finding)  # noqa: PERF402 - those before an exception are kept
    except WrongError as error:
        findings.append(error.finding)
    except NotImplementedError as error:
        told = describe(error, exercise.file)
        findings.append(told)
        if told.text.startswith(f"{name_file(exercise.file)}:"):
            return UNWRITTEN
    except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 - the reader is told, whatever it is
        findings.append(describe(error, exercise.file))
    return RIGHT if all(finding.good for finding in findings) else WRONG


if __name__ == "__main__":
    main()
