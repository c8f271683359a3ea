"""The server's handling of one edit (a version of the page's code): its process, its compilations, and its events."""

from __future__ import annotations

import queue
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xla_inspect.play.compilers import START
from xla_inspect.play.failures import make_failure
from xla_inspect.process import REASONS, find_line, name_end
from xla_inspect.targets import find_target

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from xla_inspect.play.process_pool import ProcessPool
    from xla_inspect.process import ForkedProcess

SHOWN = 20_000
"""The maximum number of displayed characters of the code's output."""

BEAT = 0.5
"""The seconds without a message after which an empty event is sent; sending fails if the page was closed."""

_EXCESSES = {
    "output": ("output", "the code prints without end", "what it printed first is shown"),
    "memory": (
        "memory",
        "the code took more memory than it may",
        "take smaller arrays: shapes are enough; or raise the limit, as in --limit-memory 16G",
    ),
    "processes": ("limit", "the code starts process after process", "take that out"),
    "start": ("crash", "no process can be started for the code", "is there memory left?"),
}


@dataclass
class Edit:
    """A version of the page's code that the server is compiling, or has compiled.

    Attributes:
        request: The page's request, already validated.
        pool: The pool of processes, with their limits.
        process: The process that runs the code.
        stored: The files with captures whose details the page may request later, by target.
        seen: The numbers that a copied test asserts, by target.
    """

    request: dict[str, Any]
    pool: ProcessPool
    process: ForkedProcess
    stored: dict[str, Path] = field(default_factory=dict)
    seen: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Set up the state of an edit that has not started."""
        self._cancelled = threading.Event()
        self._waiting = set[str]()
        self._output = 0
        self.is_superseded, self._is_running = False, True

    @property
    def id(self) -> str:
        """The identifier that the page gave the edit."""
        return str(self.request["id"])

    def supersede(self) -> None:
        """Make `answer` end early in its thread, because a newer edit replaces this one or it is stopped."""
        # The edit waits in another thread for messages, so a message is what wakes it.
        self.process.messages.put({"kind": "superseded"})

    def answer(self) -> Iterator[dict[str, Any]]:
        """Run the edit, and yield the events for the page."""
        start = time.monotonic()
        yield {"event": "started", "id": self.id}
        try:
            yield from self._work()
        finally:
            # The page may close the generator early, and then nobody needs the running compilations either.
            self._cancelled.set()
            self.process.end()
        if self.is_superseded:
            yield {"event": "superseded"}
        else:
            yield {"event": "done", "id": self.id, "seconds": time.monotonic() - start}

    def _work(self) -> Iterator[dict[str, Any]]:
        limits, process = self.pool.limits, self.process
        # The time to load JAX, until the process is ready, does not count against the code's limit.
        process.restart_clock(START)
        process.send({**self.request, "seconds": limits.code, **self.pool.place})
        while self._is_running or self._waiting:
            try:
                message = process.messages.get(timeout=BEAT)
            except queue.Empty:
                # Writing an event is the only way to notice that the page has closed the connection.
                yield {"event": "waiting"}
                continue
            if message["kind"] == "superseded":
                self.is_superseded = True
                return
            if target := message.get("compiled_for"):
                yield from self._take_result(target, message)
            else:
                yield from self._take_code(message)
        yield from self._print()

    def _take_code(self, message: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Handle a message from the code's process, and yield its events for the page."""
        match message["kind"]:
            case "ready":
                self.process.restart_clock(self.pool.limits.code)
            case "compiling":
                # A program that no other process can compile is compiled in the code's own process, with the
                # compiler's limit.
                self.process.restart_clock(self.pool.limits.compile)
            case "captured":
                self.process.restart_clock(self.pool.limits.code)
                self._store(message["asked"]).write_bytes(message["packed"])
                yield from self._take_result(message["asked"], {**message, "kind": "whole"})
            case "lowered":
                self._submit(message)
            case "traced":
                yield from self._print()
                for target in self.request["targets"]:
                    yield {"event": "traced", "target": target, "seconds": message["seconds"]}
                self.pool.learn(self.request, message["arguments"])
            case "failed":
                yield from self._print()
                yield _fail(message["target"], message["failure"])
            case "end":
                self._is_running = False
            # Every process reports its end, which is a failure only if the code had not finished before.
            case "ended" if self._is_running:
                self._is_running = False
                yield from self._print()
                yield _fail(None, self._explain_end())

    def _take_result(self, target: str, message: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Handle a compiler's message about a target, and yield its event for the page."""
        if message["kind"] == "over":
            self._waiting.discard(target)
        elif message["kind"] == "failed":
            yield _fail(target, message["failure"])
        else:
            self.seen[target] = message.get("seen")
            content = {name: message[name] for name in ("data", "seconds")}
            yield {"event": "data", "target": target, "part": message["kind"], **content}

    def _print(self) -> Iterator[dict[str, Any]]:
        """Yield an event with the code's output since the last call, if there is any."""
        text = self.process.printed[self._output : SHOWN]
        self._output += len(text)
        if text:
            # The note must appear once, in the event that reaches the limit, and not in each later event.
            is_cut = len(self.process.printed) > SHOWN == self._output
            yield {"event": "output", "text": text + "\n… what else it prints is left out\n" * is_cut}

    def _submit(self, message: dict[str, Any]) -> None:
        """Send a lowered program to the compiler for its target, in a thread of its own."""
        target = message["asked"]
        work = {name: message[name] for name in ("program", "target", "options")} | {"store": self._store(target)}
        # The target is registered before the thread starts, since `_work` ends when nothing is waiting.
        self._waiting.add(target)
        threading.Thread(target=self._compile, args=(target, message["target"], work), daemon=True).start()

    def _compile(self, requested: str, target: str, work: dict[str, Any]) -> None:
        compiler, limit = self.pool.compiler(find_target(target).kind), self.pool.limits.compile
        for message in compiler.do(work, limit, self._cancelled):
            self.process.messages.put({**message, "compiled_for": requested})
        self.process.messages.put({"kind": "over", "compiled_for": requested})

    def _store(self, target: str) -> Path:
        path = self.stored[target] = self.pool.name_file()
        return path

    def _explain_end(self) -> dict[str, Any]:
        """Return the failure, as `make_failure` does, to report when the code's process ended unexpectedly."""
        line = find_line(self.process.stacks, self.process.folder / self.request["file"])
        if self.process.excess == "time":
            message = f"the code was still running after {self.pool.limits.code:g} s"
            hint = "does a loop never end? If it takes so long, raise the limit, as in --limit-code 60"
            return make_failure("time", message, line, hint=hint)
        if self.process.excess:
            kind, message, hint = _EXCESSES[self.process.excess]
            return make_failure(kind, message, hint=hint)
        code = self.process.code or 0
        hint = REASONS.get(-code, "") if code < 0 else "take out what ends Python"
        return make_failure("crash", f"the code ended its process ({name_end(code)})", line, hint=hint)


def _fail(target: str | None, failure: dict[str, Any]) -> dict[str, Any]:
    return {"event": "failed", "target": target, "failure": failure}
