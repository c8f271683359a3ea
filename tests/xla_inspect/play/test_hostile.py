"""Whatever an edit does, the server answers it within its limits, is left as it was, and answers the next edit.

Each file of `hostile` is one edit. Its lines `#: …` say how it may be answered (`result`, or the kind of failure), with
which arguments and flags it is sent, and what it needs: `alone`, a server with process numbers of its own.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING, Any

import pytest

import xla_inspect
from measuring.trial_server import MARK, Playground, play

if TYPE_CHECKING:
    from collections.abc import Iterator

HOSTILE = Path(__file__).with_name("hostile")
LEFT = "left_behind_by_play"
# Seconds for the user's own code and for a compile, and gigabytes of memory.
LIMITS = ("--limit-code", "4", "--limit-compile", "8", "--limit-memory", "3G")
LANES = 3
"""Servers that work at once: most of the programs do nothing but wait for their limit."""
LONGEST = 45
"""Seconds within which any of them is answered, where other work shares the machine."""
EVENTS = {"started", "traced", "data", "failed", "output", "done", "superseded"}
ALONE = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", '"$@"; exit $?', "sh")
FLOOR = """
def f(x):
    return x * {}.25
"""


@dataclass(frozen=True)
class Program:
    """A hostile edit, as its file says."""

    name: str

    @cached_property
    def text(self) -> str:
        """The file as it is, with every line's own end."""
        return (HOSTILE / f"{self.name}.txt").read_bytes().decode()

    def said(self, word: str) -> str | None:
        """Return what the file says after `#: WORD`, if it does."""
        found = re.search(rf"(?m)^\ufeff?#: {word}\b ?(.*?)\r?$", self.text)
        return found and found[1]

    @property
    def answers(self) -> set[str]:
        """How it may be answered."""
        (listed,) = re.findall(r"(?m)^\ufeff?#: ((?!given |flags |alone)\S.*?)\r?$", self.text)
        return set(re.split(r", ", listed))

    @property
    def alone(self) -> bool:
        """Whether it runs where it can harm nothing else."""
        return self.said("alone") is not None

    def code(self, server: Playground, guarded: Path) -> str:
        """The code, which may name the server that it is sent to."""
        lane = guarded.parent.name
        known = {
            "PORT": server.port,
            "TOKEN": server.token,
            "TRIAL": f"{MARK}={server.mark}",
            "GUARDED": guarded,
            "FOLDER": lane,
            "SLEEP": sleep_of(server),
        }
        text = re.sub(r"\{\{(\d+) times ([^}]+)\}\}", lambda found: found[2] * int(found[1]), self.text)
        text = re.sub(r"\{\{([A-Z]+)\}\}", lambda found: str(known[found[1]]), text)
        return text.replace(LEFT, f"{LEFT}_{lane}")


def sleep_of(server: Playground) -> str:
    """Return for how many seconds what is started by an edit sleeps: a number by which it is found."""
    return str(9_000_000 + server.port)


@dataclass
class Outcome:
    """What became of a hostile edit and of the one after it."""

    raw: bytes = b""
    described: int = 0
    after: list[dict[str, Any]] = field(default_factory=list)
    left: dict[int, str] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)
    token: str = ""
    seconds: float = 0.0

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """The events by which it was answered."""
        return [json.loads(line) for line in self.raw.splitlines() if line.strip()]

    @property
    def answers(self) -> set[str]:
        """How it was answered."""
        return answers(self.events)


def answers(events: list[dict[str, Any]]) -> set[str]:
    """Return how an edit was answered: the kinds of its failures, and whether there was a whole result."""
    failures = {event["failure"]["kind"] for event in events if event["event"] == "failed"}
    whole = any(event["event"] == "data" and event["part"] == "whole" for event in events)
    return failures | {"result"} if whole else failures


class Lane:
    """A server in a folder of its own, in which everything that it may not touch is listed before."""

    def __init__(self, folder: Path, stack: ExitStack, before: tuple[str, ...] = ()) -> None:
        self.folder = folder
        for name in ("home", "started", "temporary", "guarded", "kept"):
            (folder / name).mkdir(parents=True)
        (folder / "guarded" / "kept").write_text("kept")
        self.stack, self.before = stack, before
        self.count = 0
        self.start()

    def start(self) -> None:
        """Start the server, and note how many processes it needs once it has answered."""
        environment = {
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "temporary"),
            "XLA_INSPECT_CACHE": str(self.folder / "kept"),
        }
        self.server = self.stack.enter_context(
            play(*LIMITS, folder=self.folder / "started", environment=environment, before=self.before)
        )
        assert "result" in answers(self.server.compile(FLOOR.format("0")).events)
        self.usual = len(self.server.processes())
        self.guarded = self.list_guarded()

    def list_guarded(self) -> set[tuple[str, int, int]]:
        """List every file that no edit may add, change or delete."""
        package = Path(xla_inspect.__file__).parent
        folders = [package, *(self.folder / name for name in ("home", "started", "guarded"))]
        files = [path for folder in folders for path in folder.rglob("*") if "__pycache__" not in path.parts]
        return {(str(path), path.lstat().st_size, path.lstat().st_mtime_ns) for path in files if not path.is_dir()}

    def find_left(self) -> list[str]:
        """Delete and list what edits left in folders that others use too, or in those of the server."""
        name = f"{LEFT}_{self.folder.name}*"
        shared = [Path.home(), Path(os.sep, "tmp"), Path("/dev/shm"), Path("/var/tmp"), Path(os.sep)]  # noqa: S108 - looked at
        shared += [*self.folder.parents]
        found = [path for folder in shared for path in folder.glob(name)]
        for folder, *inside in os.walk(self.folder):  # which minds no folder that goes meanwhile
            found += [Path(folder, each) for names in inside for each in names if fnmatch(each, name)]
        found += list(Path(pytest.__file__).parents[1].glob(f"*/{name}"))
        for path in found:
            path.unlink(missing_ok=True)
        return [str(path) for path in found]

    def run(self, program: Program) -> Outcome:
        """Send a hostile edit and then a good one."""
        self.count += 1
        outcome = Outcome(token=self.server.token)
        code = program.code(self.server, self.folder / "guarded")
        flags = json.loads(program.said("flags") or "{}")
        arguments = program.said("given") or "x: f32[8]"
        if arguments == "MANY":
            arguments = ", ".join(f"x{number}: f32[2]" for number in range(2000))
        outcome.described = self.server.describe(code).status
        start = time.monotonic()
        outcome.raw = self.server.compile(code, arguments=arguments, options={"flags": flags}).content
        outcome.seconds = time.monotonic() - start
        outcome.after = self.server.compile(FLOOR.format(self.count)).events
        end = time.monotonic() + LONGEST
        while (left := self.server.processes()) and len(left) > self.usual and time.monotonic() < end:
            time.sleep(0.1)
        outcome.left = left if len(left) > self.usual else {}
        outcome.left |= end_sleepers(sleep_of(self.server))
        outcome.written = self.find_left()
        if (now := self.list_guarded()) != self.guarded:
            outcome.written += sorted(str(each) for each in now ^ self.guarded)
            self.guarded = now
        if self.server.process.poll() is not None:
            message = f"the server ended: {''.join(self.server.printed)[-2000:]}"
            raise RuntimeError(message)
        return outcome


def end_sleepers(seconds: str) -> dict[int, str]:
    """End and return the processes that keep nothing of the environment by which the others are found."""
    listed = subprocess.run(["pgrep", "-af", f"sleep {seconds}"], capture_output=True, text=True, check=False).stdout
    found = {int(line.split()[0]): line for line in listed.splitlines() if line.split()[1:2] == ["sleep"]}
    for process in found:
        os.kill(process, 9)
    return found


class Trials:
    """Runs programs on some servers, a few of them before they are asked for."""

    def __init__(self, folder: Path, stack: ExitStack, order: list[str]) -> None:
        self.folder, self.stack, self.order = folder, stack, order
        self.free: Queue[Lane | None] = Queue()
        for _ in range(LANES):
            self.free.put(None)
        self.pool = stack.enter_context(ThreadPoolExecutor(LANES))
        self.futures: dict[str, Future[Outcome]] = {}
        self.started = 0

    def outcome(self, name: str) -> Outcome:
        """Return what became of a program, and begin with those that follow it."""
        place = self.order.index(name)
        for each in self.order[place : place + LANES]:
            if each not in self.futures:
                self.futures[each] = self.pool.submit(self.run, Program(each))
        return self.futures[name].result()

    def run(self, program: Program) -> Outcome:
        """Run a program on a server that is free; one that is broken is replaced."""
        lane = self.free.get()
        try:
            if program.alone:
                with ExitStack() as alone:
                    return self.make(alone, ALONE).run(program)
            lane = lane or self.make(self.stack)
            return lane.run(program)
        except BaseException:
            lane = None
            raise
        finally:
            self.free.put(lane)

    def make(self, stack: ExitStack, before: tuple[str, ...] = ()) -> Lane:
        """Start one more server."""
        self.started += 1
        return Lane(self.folder / f"play-trial-{os.getpid()}-{self.started}", stack, before)


@pytest.fixture(scope="session")
def trials(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Trials]:
    """Servers for every program that is to be tried."""
    called = [getattr(item, "callspec", None) for item in request.session.items]
    order = [each.params["name"] for each in called if each and "name" in each.params]
    with ExitStack() as stack:
        yield Trials(tmp_path_factory.mktemp("play"), stack, order)


NAMES = sorted(path.stem for path in HOSTILE.glob("*.txt"))


@pytest.mark.parametrize("name", NAMES)
def test_the_edit_is_answered_and_so_is_the_next(trials: Trials, name: str) -> None:
    program = Program(name)
    if program.alone and (not shutil.which(ALONE[0]) or subprocess.run([*ALONE, "true"], check=False).returncode):
        pytest.skip("this machine gives a process no numbers of its own: run as root on Linux")
    outcome = trials.outcome(name)
    events = outcome.events
    assert outcome.answers & program.answers, [event for event in events if event["event"] != "data"]
    assert {event["event"] for event in events} <= EVENTS
    assert len([event for event in events if event["event"] == "done"]) == 1
    assert events[-1]["event"] == "done"
    assert [event for event in events if event.get("data", {}).get("forged")] == []
    for event in events:
        if event["event"] == "failed":
            assert 0 < len(event["failure"]["message"]) < 50_000
        if event["event"] == "output":
            assert len(event["text"]) < 2_000_000
    # Code that was given the token is shown with it.
    assert outcome.token.encode() not in outcome.raw or "{{TOKEN}}" in program.text
    assert outcome.described in {200, 400}
    assert outcome.seconds < LONGEST
    assert answers(outcome.after) == {"result"}
    assert "f64[" not in json.dumps(outcome.after)
    assert outcome.left == {}
    assert outcome.written == []


def test_there_are_at_least_fifty() -> None:
    assert len(NAMES) >= 50
    assert [name for name in NAMES if not Program(name).answers] == []
