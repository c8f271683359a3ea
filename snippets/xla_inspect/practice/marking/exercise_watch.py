"""Mark an exercise each time that its file is saved, in a process that stays warm, and go on with the next."""

from __future__ import annotations

import queue
import sys
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from xla_inspect.practice.command import DONE, INTERRUPTED
from xla_inspect.practice.marking import hints
from xla_inspect.practice.marking.exercises import ALL, find_exercises, name_file
from xla_inspect.practice.marking.logbook import Logbook
from xla_inspect.practice.marking.marker import LIMIT, mark_and_report
from xla_inspect.practice.marking.sandbox import Sandbox
from xla_inspect.practice.marking.verdict import RIGHT
from xla_inspect.practice.progress import doing
from xla_inspect.terminal import takes_escapes

if TYPE_CHECKING:
    from pathlib import Path

    from xla_inspect.practice.marking.exercises import Exercise
    from xla_inspect.terminal import Paper

PAUSE = 0.25
"""Seconds between two looks at the files."""

CLEAR = "\x1b[2J\x1b[3J\x1b[H"

KEYS = "Saving the file marks it again. Type h for a hint, s for a solution, n for the next one, q to end, and Enter."


class Watch:
    """The exercises that are watched, and the one that is worked at.

    Args:
        exercises: Which are watched.
        folder: The folder of the exercises, where it is not the project's own.
        paper: What to print on.
    """

    def __init__(self, exercises: tuple[Exercise, ...], folder: Path | None, paper: Paper) -> None:
        """Begin with the first that was not right yet."""
        self._exercises = exercises
        self._folder = folder
        self._paper = paper
        self._logbook = Logbook(folder)
        self._seen: dict[Exercise, tuple[int, int] | None] = {}
        self._typed: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.current = self._logbook.find_open(exercises) or exercises[0]

    def mark_saved(self, sandbox: Sandbox) -> None:
        """Mark until all are right, or until somebody asks for the end."""
        self._seen = {exercise: _stamp(exercise) for exercise in self._exercises}
        if sys.stdin.isatty():
            threading.Thread(target=_read_keys, args=(self._typed,), daemon=True).start()
        self._mark(sandbox)
        while self._logbook.find_open(self._exercises):
            time.sleep(PAUSE)
            if saved := self._find_saved():
                self.current = saved
                self._mark(sandbox)
            elif not self._typed.empty() and not self._obey(self._typed.get(), sandbox):
                return
        hints.tell_where_to_go(self._paper)

    def _mark(self, sandbox: Sandbox) -> None:
        paper = self._paper
        if takes_escapes(paper.stream):
            paper.stream.write(CLEAR)
        exercise = replace(self.current)
        paper.heading(f"{exercise.key}: {exercise.safe_title}")
        verdict = mark_and_report(exercise, sandbox, paper, self._logbook)
        hints.show_progress(paper, self._folder)
        following = self._logbook.find_open(self._exercises)
        if verdict.verdict == RIGHT and following is not None:
            self.current = following
            paper.say(f"Go on with {name_file(following.file)}: {following.safe_title}")
        if following is not None:
            paper.say(KEYS if sys.stdin.isatty() else "Saving the file marks it again; Ctrl-C ends.")

    def _obey(self, typed: str, sandbox: Sandbox) -> bool:
        """Do what a key asks for, and return whether to go on."""
        match typed:
            case "h":
                hints.show_hint(self._paper, self.current.key, self._folder)
            case "s":
                hints.show_solution(self._paper, self.current.key, self._folder)
            case "n":
                at = self._exercises.index(self.current) + 1
                order = (*self._exercises[at:], *self._exercises[:at])
                self.current = self._logbook.find_open(order) or self.current
                self._mark(sandbox)
            case "q":
                return False
            case _:
                self._paper.say(KEYS)
        return True

    def _find_saved(self) -> Exercise | None:
        """Return an exercise whose file is another than when it was last looked at, once it is written whole."""
        for exercise, seen in self._seen.items():
            stamp = _stamp(exercise)
            if stamp in {seen, None}:
                # An editor may put a file in the place of another, and for a moment there is none.
                continue
            time.sleep(PAUSE / 5)
            if _stamp(exercise) == stamp:
                self._seen[exercise] = stamp
                return exercise
        return None


def watch(called: str, folder: Path | None, paper: Paper, limit: float = LIMIT) -> int:
    """Mark exercises as their files are saved, and return the exit status.

    Args:
        called: A phase, an exercise or all, as `find_exercises` takes them.
        folder: The folder of the exercises, by default the project's own.
        paper: What to print on.
        limit: Seconds that each may take.

    Raises:
        InspectError: There is nothing that is called so.
    """
    exercises = find_exercises(called or ALL, folder)
    with Sandbox(limit) as sandbox:
        try:
            with doing("starting JAX"):
                sandbox.warm()
            Watch(exercises, folder, paper).mark_saved(sandbox)
        except KeyboardInterrupt:
            paper.say("")
            hints.show_progress(paper, folder)
            return INTERRUPTED
    return DONE


def _stamp(exercise: Exercise) -> tuple[int, int] | None:
    """Return what changes when a file is saved, or None where there is no file."""
    try:
        status = exercise.file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _read_keys(typed: queue.SimpleQueue[str]) -> None:
    """Pass on each line that is typed."""
    for line in sys.stdin:
        typed.put(line.strip().lower())
