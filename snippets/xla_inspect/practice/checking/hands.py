"""The process that runs the reader's files: started when it is needed, and again when a file ends it."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from xla_inspect.errors import InspectError
from xla_inspect.practice.checking.exercises import Place, name_file
from xla_inspect.practice.checking.finding import WRONG, Finding, bad

if TYPE_CHECKING:
    from xla_inspect.practice.checking.exercises import Exercise

START = 120.0
"""Seconds that the process may take to start, in which it imports JAX."""

GRACE = 10.0
"""Seconds after its limit in which a process that hangs has to say where it hangs."""

_FRAME = re.compile(r'^  File "(.*)", line (\d+) in (.*)$', re.MULTILINE)


_SIGNALS = {
    "SIGABRT": "; XLA ends a process so when it meets what it cannot go on with",
    "SIGKILL": "; the system ends one so when memory runs out",
}


@dataclass(frozen=True)
class Verdict:
    """What is to be said of an exercise.

    Attributes:
        verdict: `right`, `wrong` or `unwritten`.
        findings: What the check found.
        places: What is still to be written.
        printed: The first lines that the file printed, each with its place.
        printed_lines: How many lines it printed.
    """

    verdict: str
    findings: tuple[Finding, ...]
    places: tuple[Place, ...] = ()
    printed: tuple[str, ...] = ()
    printed_lines: int = 0


class Hands:
    """A process that marks exercises, one after the other.

    Args:
        limit: Seconds that each may take.
    """

    def __init__(self, limit: float) -> None:
        """Start no process yet."""
        self._limit = limit
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._folder = tempfile.TemporaryDirectory(prefix="practice-", ignore_cleanup_errors=True)
        self._stacks = Path(self._folder.name) / "stacks"
        self._errors: IO[bytes] | None = None

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self._end()
        self._folder.cleanup()

    def mark(self, exercise: Exercise) -> Verdict:
        """Return what is to be said of an exercise, whatever its file does.

        Raises:
            InspectError: The process does not start.
        """
        process = self._process or self._start()
        asked = {
            "phase": exercise.phase,
            "name": exercise.name,
            "folder": str(exercise.folder.absolute()),
            "limit": self._limit,
            "stacks": str(self._stacks),
        }
        found = None
        if process.stdin is not None:
            try:
                process.stdin.write(json.dumps(asked) + "\n")
                process.stdin.flush()
                found = self._listen(self._limit + GRACE)
            except OSError:
                found = None
        if found is None:
            return self._bury(process, exercise)
        if found["stained"]:
            self._end()
        return Verdict(
            found["verdict"],
            tuple(Finding(**{**each, "lines": tuple(each["lines"])}) for each in found["findings"]),
            printed=tuple(found["printed"]),
            printed_lines=found["printed_lines"],
        )

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-X", "utf8", "-m", f"{__package__}.worker"]
        self._errors = (Path(self._folder.name) / "errors").open("w+b")
        # JAX as it comes, on the CPU, whatever the shell asks of it; and no compiled files beside the reader's.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
        environment = {**kept, "JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1"}
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            encoding="utf-8",
            env=environment,
        )
        self._answers = queue.SimpleQueue()
        threading.Thread(target=_pass_on, args=(self._process.stdout, self._answers), daemon=True).start()
        if self._listen(START) is None:
            said = self._read_errors()
            self._end()
            message = f"the process that runs exercises does not start: {said or 'it said nothing'}"
            raise InspectError(message)
        return self._process

    def _listen(self, seconds: float) -> dict[str, Any] | None:
        """Return the next answer, or None where there is none in time or the process has ended."""
        try:
            line = self._answers.get(timeout=seconds)
        except queue.Empty:
            return None
        if not line and self._process is not None:
            # The stream is closed a moment before the process has ended.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE)
        return json.loads(line) if line else None

    def _bury(self, process: subprocess.Popen[str], exercise: Exercise) -> Verdict:
        """Return what is to be said of a file that ended the process, or did not end itself."""
        file = name_file(exercise.file)
        stacks = self._stacks.read_text(encoding="utf-8", errors="replace") if self._stacks.is_file() else ""
        self._stacks.unlink(missing_ok=True)
        late = process.poll() is None or bool(stacks)
        said = self._read_errors()
        self._end()
        if late:
            place = find_place(stacks, exercise.file)
            text = f"{place or file}: it was still running after {self._limit:g} seconds; does a loop never end?"
            return Verdict(WRONG, (bad(text, _source(exercise, place), "python"),))
        text = f"{file}: it ended the process that ran it ({_name_end(process.returncode)})"
        return Verdict(WRONG, (bad(text, said.splitlines()[-4:]),))

    def _read_errors(self) -> str:
        if self._errors is None:
            return ""
        self._errors.flush()
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace").strip()[-2000:]

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    # What was still to be written to it has no reader any more.
                    with contextlib.suppress(OSError):
                        stream.close()
        if self._errors is not None:
            self._errors.close()
            self._errors = None


def _pass_on(stream: IO[str] | None, answers: queue.SimpleQueue[str]) -> None:
    """Pass on each line as it comes, and an empty one at the end."""
    # The stream is closed when the process is ended.
    with contextlib.suppress(OSError, ValueError):
        for line in stream or ():
            answers.put(line)
    answers.put("")


def find_place(stacks: str, file: Path) -> str:
    """Return the place in a file where some thread was, from what `faulthandler` wrote, or an empty string."""
    names = {str(file), str(file.absolute())}
    for name, line, _ in _FRAME.findall(stacks):
        if name in names:
            return f"{name_file(file)}:{line}"
    return ""


def _source(exercise: Exercise, place: str) -> list[str]:
    if not place:
        return []
    return [exercise.text.splitlines()[int(place.rpartition(":")[2]) - 1].strip()]


def _name_end(code: int | None) -> str:
    """Return how a process ended: by its exit status or by a signal."""
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        return f"signal {name}{_SIGNALS.get(name, '')}"
    return f"exit status {code}"
