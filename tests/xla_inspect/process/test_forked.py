"""A forked process exchanges messages, obeys its limits, and leaves no folder."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import pytest

from xla_inspect.process import ForkedProcess, Limits

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it needs a system that can fork")
WORK = """
import signal, subprocess, time

signal.alarm(30)  # without its limit a process would go on for ever

def answer(connection, word):
    print("printed")
    connection.send({"kind": "answer", "text": connection.recv() + word})

def crash(connection):
    import os
    os.abort()

def flood(connection):
    while True:
        print("x" * 1000)

def start_many(connection):
    for _ in range(3):
        subprocess.Popen(["sleep", "60"])
    time.sleep(60)

def hang(connection):
    while True:
        pass
"""
PATIENCE = 60


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a process, next to a module that it can import."""
    (tmp_path / "forked_work.py").write_text(WORK, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path / "folder"


def test_it_answers_messages_and_its_output_outlives_its_folder(folder: Path) -> None:
    process = ForkedProcess("forked_work:answer", ("b",), folder, {}, Limits())
    process.send("a")
    assert process.messages.get(timeout=PATIENCE) == {"kind": "answer", "text": "ab"}
    assert process.messages.get(timeout=PATIENCE) == {"kind": "ended"}
    assert (process.code, process.excess, process.printed, folder.exists()) == (0, "", "printed\n", False)


@pytest.mark.parametrize(
    ("work", "limits", "excess", "code"),
    [
        ("crash", Limits(), "", -signal.SIGABRT),
        ("flood", Limits(output=100_000), "output", -signal.SIGKILL),
        ("hang", Limits(seconds=2), "time", -signal.SIGKILL),
        ("hang", Limits(memory=1 << 10), "memory", -signal.SIGKILL),
        ("start_many", Limits(processes=2), "processes", -signal.SIGKILL),
    ],
)
def test_its_end_names_the_exceeded_limit(folder: Path, work: str, limits: Limits, excess: str, code: int) -> None:
    process = ForkedProcess(f"forked_work:{work}", (), folder, {}, limits)
    assert process.messages.get(timeout=PATIENCE) == {"kind": "ended"}
    assert (process.excess, process.code) == (excess, code)
