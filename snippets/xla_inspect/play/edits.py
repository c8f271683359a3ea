"""One edit on its way from the page to the compilers and back: its code is run, and what comes of it is told."""

from __future__ import annotations

import base64
import binascii
import queue
import signal
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from xla_inspect.play.compilers import START, Job
from xla_inspect.play.failures import make_failure
from xla_inspect.play.offspring import STACKS
from xla_inspect.process import REASONS, find_line, name_end
from xla_inspect.targets import find

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from xla_inspect.play.compilers import Compiler
    from xla_inspect.play.offspring import Offspring
    from xla_inspect.play.workshop import Workshop

SHOWN = 20_000
"""Characters that are shown of what the code prints."""


@dataclass
class Edit:
    """An edit.

    Attributes:
        request: What the page sent, checked.
        workshop: Where it is worked on.
        kept: Where captures are kept for what is asked for later, by target.
        seen: What a test can say of the result, by target.
    """

    request: dict[str, Any]
    workshop: Workshop
    kept: dict[str, Path] = field(default_factory=dict)
    seen: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin with nothing done."""
        self._heard: queue.SimpleQueue[tuple[str, dict[str, Any]]] = queue.SimpleQueue()
        self._jobs: dict[str, Job] = {}
        self._process: Offspring | None = None
        self._output = 0
        self.is_superseded = False
        self._is_running, self._waiting, self._until = True, set[str](), 0.0

    @property
    def id(self) -> str:
        """What the page calls it."""
        return str(self.request["id"])

    def supersede(self) -> None:
        """Leave it: another took its place."""
        self._heard.put(("superseded", {}))

    def run(self) -> Iterator[dict[str, Any]]:
        """Yield the events that the page is told."""
        begun = time.monotonic()
        yield {"event": "started", "id": self.id}
        try:
            yield from self._work()
        finally:
            for job in self._jobs.values():
                job.cancel()
            if self._process:
                self._process.end()
        if self.is_superseded:
            yield {"event": "superseded"}
        else:
            yield {"event": "done", "id": self.id, "seconds": time.monotonic() - begun}

    def _work(self) -> Iterator[dict[str, Any]]:
        limits = self.workshop.limits
        try:
            process = self._process = self.workshop.take()
        except OSError as error:
            text = f"no process can be started for the code: {error.strerror or error}"
            yield _fail(None, make_failure("limit", text))
            return
        process.hear(lambda message: self._heard.put(("code", message)))
        # Until it is ready it loads JAX, which is none of the code's time.
        self._until = time.monotonic() + limits.code + (0 if process.is_ready else START)
        process.send({**self.request, "seconds": limits.code, **self.workshop.place})
        while self._is_running or self._waiting:
            try:
                left = max(self._until - time.monotonic(), 0) if self._is_running else None
                source, message = self._heard.get(timeout=left)
            except queue.Empty:
                process.end()
                yield from self._print(process)
                yield _fail(None, self._explain_time(process, limits.code))
                return
            if source == "superseded":
                self.is_superseded = True
                return
            if source == "code":
                yield from self._take_code(process, message)
            elif message["kind"] == "over":
                self._waiting.discard(source)
            else:
                yield from self._tell(source, message)
        # What it printed last may still be in the pipe, which another thread reads.
        time.sleep(0.01)
        yield from self._print(process)

    def _take_code(self, process: Offspring, message: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the events that a message of the code's process is."""
        kind = message.get("kind")
        if kind in {"ready", "captured"}:
            self._until = time.monotonic() + self.workshop.limits.code
        if kind == "compiling":
            self._until = time.monotonic() + self.workshop.limits.compile
        elif kind == "captured":
            yield from self._take(message)
        elif kind == "lowered":
            self._hand_on(message)
        elif kind in {"traced", "failed"}:
            yield from self._print(process)
            yield from self._tell_code(message)
        elif kind == "end":
            self._is_running = False
        elif kind == "ended" and self._is_running:
            self._is_running = False
            yield from self._print(process)
            yield _fail(None, self._explain_end(process))

    def _tell_code(self, message: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the events of code that was traced or failed."""
        if message["kind"] == "failed":
            yield _fail(self._find_target(message.get("target")), _check_failure(message.get("failure")))
            return
        for target in self.request["targets"]:
            yield {"event": "traced", "target": target, "seconds": _number(message.get("seconds"))}
        self.workshop.learn(self.request, message.get("arguments"))

    def _print(self, process: Offspring) -> Iterator[dict[str, Any]]:
        """Yield what the code printed since the last time."""
        text = process.printed[self._output : SHOWN]
        self._output += len(text)
        if text:
            more = "\n… what else it prints is left out\n" if len(process.printed) > SHOWN == self._output else ""
            yield {"event": "output", "text": text + more}

    def _find_target(self, named: object) -> str | None:
        return str(named) if named in self.request["targets"] else None

    def _hand_on(self, message: dict[str, Any]) -> None:
        """Let a compiler have what the code was lowered to."""
        asked, target = message.get("asked"), message.get("target")
        if asked not in self.request["targets"] or asked in self._jobs or not isinstance(target, str):
            return
        work = {
            "record": message.get("record"),
            "target": target,
            "options": message.get("options"),
            "sources": {self.request["file"]: self.request["code"]},
            "keep": str(self._keep(str(asked))),
        }
        tell = partial(self._hear, str(asked))
        job = self._jobs[str(asked)] = Job(work, tell, self.workshop.limits.compile)
        compiler: Compiler = self.workshop.compiler(find(target).kind)
        self._waiting.add(str(asked))
        compiler.submit(job)

    def _hear(self, target: str, message: dict[str, Any]) -> None:
        self._heard.put((target, message))

    def _keep(self, target: str) -> Path:
        path = self.kept[target] = self.workshop.name_kept()
        return path

    def _tell(self, target: str, message: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the event that a compiler's message is."""
        if message["kind"] in {"lowered", "whole"}:
            told = {name: message[name] for name in ("data", "seconds")}
            self.seen[target] = message.get("seen")
            yield {"event": "data", "target": target, "part": message["kind"], **told}
        elif message["kind"] == "failed":
            yield _fail(target, message["failure"])

    def _take(self, message: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield what the code's own process compiled."""
        target, data = self._find_target(message.get("asked")), message.get("data")
        if target is None or not isinstance(data, dict):
            return
        try:
            packed = base64.b64decode(str(message.get("packed")))
            self._keep(target).write_bytes(packed)
        except (OSError, binascii.Error, ValueError):
            self.kept.pop(target, None)
        self.seen[target] = message.get("seen")
        told = {"data": data, "seconds": message.get("seconds") or {}}
        yield {"event": "data", "target": target, "part": "whole", **told}

    def _explain_time(self, process: Offspring, limit: float) -> dict[str, Any]:
        line = self._find_stack(process)
        hint = "does a loop never end? If it takes so long, raise the limit, as in --limit-code 60"
        return make_failure("time", f"the code was still running after {limit:g} s", line, hint=hint)

    def _explain_end(self, process: Offspring) -> dict[str, Any]:
        """Return what is told of code that ended its process."""
        report = process.report or {}
        reason, code = report.get("reason"), report.get("code", -signal.SIGKILL)
        if process.is_flooded:
            return make_failure("output", "the code prints without end", hint="what it printed first is shown")
        if reason == "memory":
            hint = "take smaller arrays: shapes are enough; or raise the limit, as in --limit-memory 16G"
            return make_failure("memory", "the code took more memory than it may", hint=hint)
        if reason == "processes":
            return make_failure("limit", "the code starts process after process", hint="take that out")
        line = process.stacks and find_line(process.stacks, process.folder / self.request["file"])
        why = REASONS.get(-int(code)) if code < 0 else "take out what ends Python"
        return make_failure("crash", f"the code ended its process ({name_end(int(code))})", line or None, hint=why)

    def _find_stack(self, process: Offspring) -> int | None:
        try:
            with (process.folder / STACKS).open(encoding="utf-8", errors="replace") as file:
                return find_line(file.read(1 << 20), process.folder / self.request["file"])
        except OSError:
            return None


def _fail(target: str | None, failure: dict[str, Any]) -> dict[str, Any]:
    return {"event": "failed", "target": target, "failure": failure}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _check_failure(failure: object) -> dict[str, Any]:
    """Return a failure that the code's process told, which may be of the code's own making."""
    told = failure if isinstance(failure, dict) else {}
    kind = told.get("kind")
    known = {"syntax", "loading", "tracing", "arguments", "compiler", "memory", "limit", "crash"}
    numbers = {name: told[name] for name in ("line", "column", "end_line") if isinstance(told.get(name), int)}
    hint = told.get("hint")
    return make_failure(
        kind if kind in known else "crash",
        str(told.get("message") or "it says nothing"),
        **numbers,
        hint=hint if isinstance(hint, str) else None,
    )
