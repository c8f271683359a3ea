"""The server answers every hostile edit within its limits, and then the next edit.

Each file of `hostile` is one edit. Its lines `#: …` list the possible answers (`result`, or a kind of failure), and the
arguments and flags that are sent with it.
"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from measuring.trial_server import Playground, play

if TYPE_CHECKING:
    from collections.abc import Iterator

HOSTILE = Path(__file__).with_name("hostile")
NAMES = sorted(path.stem for path in HOSTILE.glob("*.txt"))
LIMITS = ("--limit-code", "4", "--limit-compile", "8", "--limit-memory", "3G")
LONGEST = 45
"""Seconds within which an edit is answered on a busy machine."""
EVENTS = {"started", "traced", "data", "failed", "output", "done", "superseded"}
NEXT = """
def f(x):
    return x * {}.25
"""


@pytest.fixture(scope="module")
def playground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    """A playground with short limits that has answered an edit."""
    with play(*LIMITS, folder=tmp_path_factory.mktemp("play")) as started:
        assert "result" in list_answers(started.compile(NEXT.format("0")).events)
        yield started


def list_answers(events: list[dict[str, Any]]) -> set[str]:
    """Return the kinds of an edit's failures, and `result` if there is a result."""
    failures = {event["failure"]["kind"] for event in events if event["event"] == "failed"}
    has_result = any(event["event"] == "data" and event["part"] == "whole" for event in events)
    return failures | {"result"} if has_result else failures


def read_program(name: str, port: int) -> tuple[str, dict[str, str]]:
    """Return the code of a hostile edit, and the values of its lines `#: …`: `answers`, `given` and `flags`."""
    text = (HOSTILE / f"{name}.txt").read_bytes().decode()
    text = re.sub(r"\{\{(\d+) times ([^}]+)\}\}", lambda match: match[2] * int(match[1]), text)
    lines = re.findall(r"(?m)^\ufeff?#: (.*?)\r?$", text)
    words = {line.partition(" ")[0]: line.partition(" ")[2] for line in lines if re.match("given |flags ", line)}
    (answers,) = (line for line in lines if not re.match("given |flags ", line))
    return text.replace("{{PORT}}", str(port)), {"answers": answers, **words}


@pytest.mark.long(
    "otherwise one hostile edit of each kind is tried",
    but=[
        "aborts",
        "byte_order_mark",
        "closes_every_descriptor",
        "huge_memory",
        "kills_its_parent",
        "loop_in_c",
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_the_edit_is_answered_and_so_is_the_next(playground: Playground, name: str) -> None:
    code, words = read_program(name, playground.port)
    arguments = words.get("given", "x: f32[8]")
    assert playground.describe(code).status in {200, 400}
    start = time.monotonic()
    options = {"flags": json.loads(words.get("flags", "{}"))}
    events = playground.compile(code, arguments=arguments, options=options).events
    assert time.monotonic() - start < LONGEST
    assert list_answers(events) & {*words["answers"].split(", ")}, events
    assert {event["event"] for event in events} <= EVENTS
    assert [event for event in events if event["event"] == "done"] == events[-1:]
    for event in events:
        if event["event"] == "failed":
            assert 0 < len(event["failure"]["message"]) < 50_000
        if event["event"] == "output":
            assert len(event["text"]) < 2_000_000
    following = playground.compile(NEXT.format(NAMES.index(name) + 1)).events
    assert list_answers(following) == {"result"}
    assert "f64[" not in json.dumps(following)
    assert playground.process.poll() is None


def test_processes_started_by_code_are_ended(playground: Playground) -> None:
    code = "import subprocess\nsubprocess.Popen(['sleep', '98765'])\n" + NEXT.format("9")
    assert list_answers(playground.compile(code).events) == {"result"}
    end = time.monotonic() + LONGEST
    while any("98765" in command for command in playground.processes().values()) and time.monotonic() < end:
        time.sleep(0.1)
    assert not [command for command in playground.processes().values() if "98765" in command]
