"""A copy of a command's process runs the user's file like a new process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from xla_inspect.commands.forked_child import can_fork

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="commands copy their process on Linux alone")

COMMAND = """
import sys
from xla_inspect.commands import child_process, main

if sys.argv.pop(1) == "new":
    child_process.can_fork = lambda: False
sys.exit(main(sys.argv[1:]))
"""
LOOK = """
import gc, os, signal, sys
import __main__

print(sorted(item for item in os.environ.items()))
print(sys.path, len(sys.argv), sys.argv[0], sys.argv[2:], os.getcwd())
print(__main__.__name__, hasattr(__main__, "__file__"), gc.get_threshold())
print(sys.stdout.encoding, sys.stderr.encoding, sys.stderr.errors, sys.stdin.fileno())
print([signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)])
os.write(2, b"to the descriptor\\n")


def step(x):
    return x + 1


EXAMPLE = (1.0,)
"""
WAIT = """
import os, time

print("process", os.getpid(), flush=True)
time.sleep(600)
"""


def test_the_users_file_cannot_tell_a_copy_from_a_new_process(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(LOOK, encoding="utf-8")
    results = []
    for kind in ("new", "copy"):
        command = [sys.executable, "-c", COMMAND, kind, "memory", "model.py:step", "--target", "cpu"]
        result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        results.append(
            (
                result.returncode,
                result.stdout,
                result.stderr.replace("loading model.py ...\n", "").replace(", ", "\n").splitlines(),
            )
        )
    new, copied = results
    assert [*set(copied[2]) ^ set(new[2])] == []
    assert copied == new
    assert (new[0], "to the descriptor" in new[2]) == (0, True)


def test_a_copy_ends_when_its_command_is_killed(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(WAIT, encoding="utf-8")
    command = [sys.executable, "-c", COMMAND, "copy", "memory", "model.py:step"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        line = next(line for line in process.stderr if line.startswith("process "))
        process.kill()
        copied = int(line.split()[1])
        assert copied != process.pid
        for _ in range(100):
            if not _runs(copied):
                break
            time.sleep(0.1)
        assert not _runs(copied)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
        # A process that nobody has waited for exists, but does not run.
        with open(f"/proc/{process}/stat", encoding="ascii") as file:  # noqa: PTH123 - of the system
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_a_process_with_threads_or_with_jax_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    assert can_fork()
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    assert not can_fork()
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setitem(sys.modules, "jax", threading)
    assert not can_fork()


@pytest.mark.parametrize(("number", "text"), [(signal.SIGSEGV, "SIGSEGV"), (signal.SIGKILL, "SIGKILL")])
def test_the_crash_of_a_copy_is_reported(number: int, text: str, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(f"import os\n\nos.kill(os.getpid(), {int(number)})\n", encoding="utf-8")
    command = [sys.executable, "-c", COMMAND, "copy", "memory", "model.py:step"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert f"the process that ran this file ended early (signal {text})" in result.stderr
