"""Marking of an exercise each time its file is saved, in a process that stays warm, and then of the next one."""

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
"""The seconds between two checks of the files."""

CLEAR = "\x1b[2J\x1b[3J\x1b[H"

KEYS = (
    "Save the file to mark it again. Type h for a hint, s for a solution, n for the next one or q to quit, then Enter."
)


class Watch:
    """A loop that marks exercises when their files are saved, and obeys the keys that the reader types.

    Args:
        exercises: The exercises to watch.
        folder: The folder of the exercises, by default the project's.
        paper: The output.
    """

    def __init__(self, exercises: tuple[Exercise, ...], folder: Path | None, paper: Paper) -> None:
        """Start with the first exercise that is not right yet, or with the first of all."""
        self._exercises = exercises
        self._folder = folder
        self._paper = paper
        self._logbook = Logbook(folder)
        self._seen: dict[Exercise, tuple[int, int] | None] = {}
        self._typed: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.current = self._logbook.find_open(exercises) or exercises[0]

    def mark_saved(self, sandbox: Sandbox) -> None:
        """Mark the current exercise, then each one that is saved, until all are right or the reader quits."""
        self._seen = {exercise: _stamp(exercise) for exercise in self._exercises}
        if sys.stdin.isatty():
            # Reading the terminal blocks, so a thread does it while this loop watches the files.
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
        # `replace` copies the exercise without its cached text, so the copy reads the file again.
        exercise = replace(self.current)
        paper.heading(f"{exercise.key}: {exercise.safe_title}")
        verdict = mark_and_report(exercise, sandbox, paper, self._logbook)
        hints.show_progress(paper, self._folder)
        following = self._logbook.find_open(self._exercises)
        if verdict.verdict == RIGHT and following is not None:
            self.current = following
            paper.say(f"Continue with {name_file(following.file)}: {following.safe_title}")
        if following is not None:
            paper.say(KEYS if sys.stdin.isatty() else "Save the file to mark it again; press Ctrl-C to quit.")

    def _obey(self, typed: str, sandbox: Sandbox) -> bool:
        """Run the action of a key (hint, solution, next or quit), and return whether to continue."""
        match typed:
            case "h":
                hints.show_hint(self._paper, self.current.key, self._folder)
            case "s":
                hints.show_solution(self._paper, self.current.key, self._folder)
            case "n":
                at = self._exercises.index(self.current) + 1
                # After the last exercise, the search continues with the first.
                order = (*self._exercises[at:], *self._exercises[:at])
                self.current = self._logbook.find_open(order) or self.current
                self._mark(sandbox)
            case "q":
                return False
            case _:
                self._paper.say(KEYS)
        return True

    def _find_saved(self) -> Exercise | None:
        """Return an exercise whose file has changed and is completely written, or None."""
        for exercise, last in self._seen.items():
            stamp = _stamp(exercise)
            if stamp in {last, None}:
                # An editor may replace a file by another one, and for a moment there is none.
                continue
            # A file that is still being written changes again within this time.
            time.sleep(PAUSE / 5)
            if _stamp(exercise) == stamp:
                self._seen[exercise] = stamp
                return exercise
        return None


def watch(name: str, folder: Path | None, paper: Paper, limit: float = LIMIT) -> int:
    """Mark exercises as their files are saved, and return the exit status.

    Args:
        name: A phase, an exercise or all, as in `find_exercises`.
        folder: The folder of the exercises, by default the project's own.
        paper: The output.
        limit: The maximum seconds for each exercise.

    Raises:
        InspectError: There is no exercise of that name.
    """
    exercises = find_exercises(name or ALL, folder)
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
    """Return the time and size of a file, which change when it is saved, or None without a file."""
    try:
        status = exercise.file.stat()
    except OSError:
        return None
    # The size is compared too, because two saves may fall into one tick of a coarse clock.
    return status.st_mtime_ns, status.st_size


def _read_keys(typed: queue.SimpleQueue[str]) -> None:
    """Put each typed line into the queue."""
    for line in sys.stdin:
        typed.put(line.strip().lower())
