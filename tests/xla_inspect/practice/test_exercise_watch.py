"""A file is marked when it is saved, in a terminal and in a pipe, always in its current version."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from planting import BY_KEY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pty = pytest.importorskip("pty")

PATIENCE = 120.0


class Learner:
    """A user at a terminal that watches the exercises.

    Args:
        folder: The folder of the exercises.
        name: The exercise or phase to watch.
        environment: Environment variables that differ from those of this process.
    """

    def __init__(self, folder: Path, name: str, **environment: str) -> None:
        self._ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "xla_inspect.main", "--watch", name, "--exercises", str(folder)]
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "80", "NO_COLOR": "1", **environment},
        )
        os.close(theirs)
        os.set_blocking(self._ours, False)
        self.seen = ""

    def wait_for(self, *texts: str) -> str:
        """Return the new output of the screen once it contains all of these texts; fail after `PATIENCE` seconds."""
        end = time.monotonic() + PATIENCE
        output = ""
        while time.monotonic() < end:
            output += self._read()
            words = " ".join(output.split())
            if all(text in words for text in texts):
                self.seen += output
                return output
            time.sleep(0.1)
        raise AssertionError(output)

    def type(self, text: str) -> None:
        """Type a line."""
        os.write(self._ours, f"{text}\n".encode())

    def interrupt(self) -> None:
        """Press Ctrl-C: all processes of the session get the signal, as from a terminal."""
        os.killpg(self.process.pid, signal.SIGINT)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)

    def _read(self) -> str:
        try:
            return os.read(self._ours, 100_000).decode(errors="replace")
        except (BlockingIOError, OSError):
            return ""


@pytest.fixture(name="learner")
def watching(folder: Path) -> Iterator[Learner]:
    learner = Learner(folder, "jaxpr")
    yield learner
    learner.close()


def test_a_saved_file_is_marked_and_the_next_exercise_follows(folder: Path, learner: Learner) -> None:
    primitives, follow = (BY_KEY[f"jaxpr/{name}"] for name in ("primitives", "follow"))
    file = folder / "jaxpr" / "primitives.py"
    output = learner.wait_for("not yet written: ", "needs count", "0 of ", "to quit, then Enter.")
    assert "\x1b[2J" in output
    assert str(file) in output.replace("\r\n", " ").replace(" ", "") or "primitives.py" in output
    file.write_text(f"{file.read_text(encoding='utf-8')}\ndef count(jaxpr):\n    return {{}}\n", encoding="utf-8")
    learner.wait_for("wrong", "WRONG: ", "--hint jaxpr/primitives", "to quit, then Enter.")
    # The line that is shown is that of the file as it is now, not as the process saw it first.
    broken = "\n\n\n\ndef count(jaxpr):\n    return jaxpr.nothing\n"
    file.write_text(file.read_text(encoding="utf-8") + broken, encoding="utf-8")
    learner.wait_for("AttributeError", "return jaxpr.nothing", "to quit, then Enter.")
    learner.type("h")
    learner.wait_for("jaxpr/primitives: hint 1 of 3", " ".join(primitives.hints[0].split())[:40])
    # As an editor does that puts a new file in the place of the old one.
    beside = file.with_suffix(".new")
    shutil.copy(primitives.solution, beside)
    beside.replace(file)
    learner.wait_for("right", "Lesson: ", "1 of ", f"follow.py: {follow.title}", "to quit, then Enter.")
    learner.type("n")
    learner.wait_for("from_jaxpr", "not yet written", "to quit, then Enter.")
    learner.type("q")
    assert learner.process.wait(30) == 0


def test_the_watch_ends_with_next_steps_when_all_are_right(folder: Path, learner: Learner) -> None:
    learner.wait_for("to quit, then Enter.")
    for name, following in (("primitives", "follow"), ("follow", "from_jaxpr"), ("from_jaxpr", "")):
        shutil.copy(BY_KEY[f"jaxpr/{name}"].solution, folder / "jaxpr" / f"{name}.py")
        learner.wait_for("right", f"{following}.py" if following else "xla-inspect report FILE.py:FUNCTION")
    assert learner.process.wait(30) == 0


def test_an_interrupt_ends_it_with_its_status_and_no_traceback(learner: Learner) -> None:
    learner.wait_for("to quit, then Enter.")
    learner.interrupt()
    output = learner.wait_for("0 of ")
    assert learner.process.wait(30) == 130
    assert "Traceback" not in learner.seen + output


def test_a_terminal_without_escapes_gets_plain_text(folder: Path) -> None:
    learner = Learner(folder, "basics/mlp", TERM="dumb")
    try:
        assert "\x1b" not in learner.wait_for("basics/mlp: Write a two-layer", "to quit, then Enter.")
    finally:
        learner.close()


def test_a_removed_and_restored_file_is_marked_again(folder: Path, learner: Learner) -> None:
    learner.wait_for("to quit, then Enter.")
    file = folder / "jaxpr" / "primitives.py"
    text = file.read_text(encoding="utf-8")
    file.unlink()
    time.sleep(1)
    file.write_text(text + "\n\ndef broken(:\n", encoding="utf-8")
    learner.wait_for("Python cannot read this", "to quit, then Enter.")
