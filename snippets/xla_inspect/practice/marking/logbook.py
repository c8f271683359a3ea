"""The reader's progress: right exercises, the number of hints shown, and missed predictions.

The file is in `.practice/` of the exercises' project, which git ignores, or else in their own folder. A file that
cannot be read counts as empty, and a failure to write it is ignored, because nothing depends on it.
"""

from __future__ import annotations

import json
import zlib
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from xla_inspect import folders, store
from xla_inspect.errors import InspectError
from xla_inspect.practice.marking.exercises import FOLDER
from xla_inspect.practice.marking.verdict import RIGHT

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from xla_inspect.practice.marking.exercises import Exercise

RIGHT_ONCE, TEXT, HINTS, MISSED = "right", "text", "hints", "missed"

CHANGED = "changed"
"""The state of an exercise whose file has changed since the exercise was right."""


class Logbook:
    """The stored progress on the exercises of a folder.

    Args:
        folder: The folder of the exercises, by default `FOLDER`.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """Locate the file; it is read when it is needed."""
        folder = (folder or FOLDER).absolute()
        home = folders.find_project(folder) or folder
        self.file = home / ".practice" / "progress.json"
        self._place = folder.relative_to(home).as_posix()

    def find_state(self, exercise: Exercise) -> str:
        """Return `RIGHT`, `CHANGED` if the file changed after it was right, or an empty string if it was not right."""
        entry = self._read().get(exercise.key, {})
        if entry.get(RIGHT_ONCE) != 1:
            return ""
        return RIGHT if entry.get(TEXT, 0) in {0, _hash_text(exercise)} else CHANGED

    def is_right(self, exercise: Exercise) -> bool:
        """Return whether an exercise was right when it was last marked, and its file has not changed since then."""
        return self.find_state(exercise) == RIGHT

    def find_open(self, exercises: Iterable[Exercise]) -> Exercise | None:
        """Return the first exercise that is not right, or None."""
        return next((exercise for exercise in exercises if not self.is_right(exercise)), None)

    def note(self, exercise: Exercise, verdict: str, *, cell: bool = False) -> None:
        """Store whether the verdict on an exercise, in its file or in a notebook's cell, is `RIGHT`."""
        self._write(exercise.key, RIGHT_ONCE, int(verdict == RIGHT))
        self._write(exercise.key, TEXT, 0 if cell else _hash_text(exercise))

    def count_hints(self, exercise: Exercise) -> int:
        """Return the number of hints shown for an exercise."""
        return self._read().get(exercise.key, {}).get(HINTS, 0)

    def note_hints(self, exercise: Exercise, number: int) -> None:
        """Store the number of hints shown for an exercise."""
        self._write(exercise.key, HINTS, number)

    @property
    def missed(self) -> list[str]:
        """The names of missed predictions that were not asked again yet."""
        return [name for name, number in self._read().get(MISSED, {}).items() if number]

    def note_prediction(self, name: str, *, missed: bool) -> None:
        """Store whether a prediction is to be asked again."""
        if missed != (name in self.missed):
            self._write(MISSED, name, int(missed))

    def _read(self) -> dict[str, dict[str, int]]:
        """Return the stored entries of this folder by exercise, without malformed entries."""
        stored = _read_json(self.file).get(self._place)
        entries = stored.items() if isinstance(stored, dict) else ()
        return {
            key: {name: number for name, number in entry.items() if type(number) is int and number >= 0}
            for key, entry in entries
            if isinstance(entry, dict)
        }

    def _write(self, key: str, name: str, number: int) -> None:
        entries = self._read()
        entries.setdefault(key, {})[name] = number
        # One file stores the progress of several folders, whose entries must survive.
        whole = _read_json(self.file) | {self._place: entries}
        with suppress(OSError):
            store.write_whole(self.file, (json.dumps(whole, indent=1, sort_keys=True) + "\n").encode())


def _hash_text(exercise: Exercise) -> int:
    """Return a hash of the current text of the exercise's file, or 0 if the file cannot be read."""
    with suppress(InspectError):
        # `replace` copies the exercise without its cached text, so the copy reads the file again.
        return zlib.crc32(replace(exercise).text.encode())
    return 0


def _read_json(file: Path) -> dict[str, object]:
    """Return the JSON object in a file, or an empty one."""
    with suppress(OSError, ValueError, RecursionError):
        content = json.loads(file.read_bytes())
        return content if isinstance(content, dict) else {}
    return {}
