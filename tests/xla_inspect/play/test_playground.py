"""A playground ends cleanly in every case: no process and no file is left."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from measuring.trial_server import ADDRESS, COMMAND, MARK, Playground, play
from xla_inspect.errors import InspectError
from xla_inspect.play.playground import NOT_STOPPED, find_place, read_file

if TYPE_CHECKING:
    from pathlib import Path

CODE = "def f(x):\n    return x + 1\n"
SOON = 30
"""Seconds after which nothing of an ended playground runs."""


def await_end(playground: Playground, temporary: Path) -> None:
    """Assert that a playground leaves nothing after it was told to end."""
    assert playground.process.wait(10) == 0
    end = time.monotonic() + SOON
    while playground.processes() and time.monotonic() < end:
        time.sleep(0.02)
    assert playground.processes() == {}
    assert [*temporary.iterdir()] == []
    assert "Traceback" not in "".join(playground.printed)


def test_a_signal_ends_it_cleanly(tmp_path: Path) -> None:
    with play(folder=tmp_path, environment={"TMPDIR": str(tmp_path)}) as playground:
        events = playground.compile(CODE).events
        assert events[-1]["event"] == "done"
        assert len(playground.processes()) > 1
        assert NOT_STOPPED in "".join(playground.printed)
        playground.process.send_signal(signal.SIGTERM)
        await_end(playground, tmp_path)


def test_it_ends_cleanly_while_it_still_starts(tmp_path: Path) -> None:
    with play(folder=tmp_path, environment={"TMPDIR": str(tmp_path)}) as playground:
        playground.process.send_signal(signal.SIGHUP)
        await_end(playground, tmp_path)


def test_it_ends_cleanly_while_code_runs(tmp_path: Path) -> None:
    with play(folder=tmp_path, environment={"TMPDIR": str(tmp_path)}) as playground:
        with suppress(TimeoutError):
            playground.ask("/compile", ask_loop(), patience=2)
        playground.process.send_signal(signal.SIGINT)
        await_end(playground, tmp_path)


def ask_loop() -> dict[str, object]:
    """Return an edit whose code never ends."""
    request = {"id": "1", "client": "a", "code": "while True:\n    pass\n", "function": "f", "targets": ["cpu"]}
    return {**request, "arguments": "x: f32[8]", "options": {}}


def test_it_ends_cleanly_with_its_terminal(tmp_path: Path) -> None:
    own, terminal = pty.openpty()
    environment = {**os.environ, "TMPDIR": str(tmp_path), MARK: str(tmp_path)}
    # A session of its own has the terminal, which hangs up when the other side of it is closed.
    take = "import fcntl, sys, os, termios; fcntl.ioctl(0, termios.TIOCSCTTY); os.execv(sys.argv[1], sys.argv[1:])"
    command = [sys.executable, "-c", take, *COMMAND, "--port", "0"]
    process = subprocess.Popen(
        command, stdin=terminal, stdout=terminal, stderr=terminal, env=environment, start_new_session=True
    )
    os.close(terminal)
    playground = Playground(process, str(tmp_path))
    try:
        output = ""
        while not ADDRESS.search(output):
            output += os.read(own, 1000).decode()
        os.close(own)
        await_end(playground, tmp_path)
    finally:
        playground.end()


HUNG_UP = """
import os, pty
from xla_inspect.play.playground import announce
own, terminal = pty.openpty()
os.close(own)
with os.fdopen(terminal, "w") as out:
    announce("the address", out)
print("it goes on")
"""


def test_a_terminal_closed_before_the_address_is_printed_is_not_an_error() -> None:
    result = subprocess.run([sys.executable, "-c", HUNG_UP], capture_output=True, text=True, timeout=60, check=False)
    assert (result.stdout, result.stderr) == ("it goes on\n", "")


def test_a_file_begins_with_its_first_function(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(CODE)
    file_text = read_file(f"{tmp_path}/own.py")
    assert (file_text["file"], file_text["code"], file_text["function"]) == ("own.py", CODE, "f")
    for subject, message in {
        "own.py:g": "has no function 'g'",
        "none.py:f": "no file",
        "own.txt": "not FILE.py",
    }.items():
        with pytest.raises(InspectError, match=message):
            read_file(f"{tmp_path}/{subject}")


def test_a_file_of_a_package_can_import_neighbors_of_the_package(tmp_path: Path) -> None:
    (tmp_path / "outer" / "inner").mkdir(parents=True)
    for folder in ("outer", "outer/inner"):
        (tmp_path / folder / "__init__.py").touch()
    place = find_place(f"{tmp_path}/outer/inner/own.py:f", "own.py")
    assert place == {"file": "own.py", "package": "outer.inner", "paths": [str(tmp_path)]}
