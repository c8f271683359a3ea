"""The pool of processes that run and compile the code of the playground's pages, with the latest results."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import tempfile
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xla_inspect.errors import InspectError
from xla_inspect.play.compilers import Compiler
from xla_inspect.play.edits import Edit
from xla_inspect.process import ForkedProcess, count_memory, preload
from xla_inspect.process import Limits as ProcessLimits
from xla_inspect.targets import find_target

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

STORED = 12
"""The maximum number of edits whose captures, and of programs whose arguments, are stored for later requests."""

AT_ONCE = 8
"""The maximum number of edits that run at the same time, each for another page."""

LONGEST = 100_000
"""The maximum number of characters of stored arguments."""

CLOSING = 5.0
"""The time limit in seconds for ending all processes."""

FLOOD = 1 << 26
"""The number of output bytes after which a process is ended."""

PROCESSES = 32
"""The maximum number of processes that one process may start."""

OUTLINE = 5.0
"""The time limit in seconds for outlining code."""


@dataclass(frozen=True)
class Limits:
    """The time and memory limits of one edit, which is a version of the code on the playground's page.

    Attributes:
        code: The time limit of the reader's code, in seconds.
        compile: The time limit of a compilation, in seconds.
        memory: The memory limit of each process, in bytes.
    """

    code: float = 10.0
    compile: float = 60.0
    memory: int = 8 << 30


class ProcessPool:
    """The pool of processes that run and compile edits, which are versions of the code on the playground's page.

    Args:
        limits: The limits of each edit.
        place: The reader's `file`, its `package`, and the `paths` from which it imports.
        kinds: The kinds of targets whose compilers are started immediately.
    """

    def __init__(self, limits: Limits, place: Mapping[str, Any], kinds: Sequence[str] = ()) -> None:
        """Start the processes."""
        self.limits, self.place = limits, dict(place)
        self.folder = Path(tempfile.mkdtemp(prefix="xla_inspect_play_"))
        (self.folder / "stored").mkdir()
        preload("xla_inspect.play.preloaded")
        # Methods that hold the lock call other methods that take it, so the lock must be reentrant.
        self._lock = threading.RLock()
        self._is_closed = False
        self._spares: list[ForkedProcess] = []
        self._numbers = itertools.count(1)
        self._edits: OrderedDict[str, Edit] = OrderedDict()
        self._current: dict[str, Edit] = {}
        self._known: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._outliner = Compiler(lambda: self._fork("compile_process:run_outliner"))
        self._compilers: dict[str, Compiler] = {}
        self._refill()
        for kind in kinds:
            self.compiler(kind)

    def close(self) -> None:
        """Kill every process of the pool, and remove its folder."""
        with self._lock:
            self._is_closed = True
            for edit in self._current.values():
                edit.supersede()
            processes = [edit.process for edit in self._current.values()] + self._spares
            processes += [compiler.process for compiler in (*self._compilers.values(), self._outliner)]
        # All processes are told to end before the first wait, so that they end at the same time.
        for process in processes:
            process.end()
        end = time.monotonic() + CLOSING
        for process in processes:
            process.wait(max(end - time.monotonic(), 0))
        shutil.rmtree(self.folder, ignore_errors=True)

    def compiler(self, kind: str) -> Compiler:
        """Return the worker process that compiles for a kind of target, and start it if there is none."""
        with self._lock:
            if kind not in self._compilers:
                self._compilers[kind] = Compiler(lambda: self._fork("compile_process:run_compiler", kind))
            return self._compilers[kind]

    def _fork(self, work: str, *arguments: str | int) -> ForkedProcess:
        folder = self.folder / f"{work.rpartition('_')[2]}-{next(self._numbers)}"
        limits = ProcessLimits(memory=self.limits.memory, output=FLOOD, processes=PROCESSES)
        variables = {"XLA_INSPECT_CACHE": "off", "TPU_LOG_DIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
        return ForkedProcess(f"xla_inspect.play.{work}", arguments, folder, variables, limits)

    def _take(self) -> ForkedProcess:
        """Return a process that waits for an edit, and start a replacement for it.

        Raises:
            OSError: No process can be started.
        """
        with self._lock:
            while self._spares:
                spare = self._spares.pop()
                # A spare process may have ended while it waited.
                if spare.code is None:
                    break
            else:
                spare = self._fork_edit()
        threading.Timer(0.2, self._refill).start()
        return spare

    def _refill(self) -> None:
        with self._lock, contextlib.suppress(OSError):
            if not self._spares and not self._is_closed:
                self._spares.append(self._fork_edit())

    def _fork_edit(self) -> ForkedProcess:
        return self._fork("edit_process:run_edit", self.limits.memory)

    def name_file(self) -> Path:
        """Return an unused path for a capture, without creating the file."""
        return self.folder / "stored" / f"{next(self._numbers)}.gz"

    def learn(self, request: Mapping[str, Any], arguments: object) -> None:
        """Store the arguments with which a function was compiled, if the page's request did not list any."""
        if isinstance(arguments, str) and len(arguments) < LONGEST and not request["arguments"].strip():
            with self._lock:
                # The same code with the same function always has the same EXAMPLE, so both are the key.
                self._known[request["code"], request["function"]] = arguments
                while len(self._known) > STORED:
                    self._known.popitem(last=False)

    def answer_edit(self, request: dict[str, Any]) -> Generator[dict[str, Any]]:
        """Run an edit, which replaces the page's previous edit, and yield its events.

        Raises:
            InspectError: Edits of too many other pages are running, or no process can be started.
        """
        client = request["client"]
        with self._lock:
            if before := self._current.pop(client, None):
                # A page shows only its latest edit, so the previous one must not keep a process busy.
                before.supersede()
            if len(self._current) >= AT_ONCE:
                message = f"{AT_ONCE} edits of other pages are compiled now; wait for them, or close those pages"
                raise InspectError(message)
            try:
                edit = Edit({**request, "file": self.place["file"]}, self, self._take())
            except OSError as error:
                message = f"no process can be started for the code: {error.strerror or error}"
                raise InspectError(message) from error
            self._current[client] = self._edits[edit.id] = edit
            # Files are removed after the lock is released, since other edits need the lock.
            dropped = []
            while len(self._edits) > STORED:
                dropped.append(self._edits.popitem(last=False)[1])
        for path in (path for old in dropped for path in old.stored.values()):
            path.unlink(missing_ok=True)
        try:
            yield from edit.answer()
        finally:
            with self._lock:
                # The page may have started another edit in the meantime, which must stay registered.
                if self._current.get(client) is edit:
                    del self._current[client]

    def stop(self, client: str) -> bool:
        """End the edit of a page, and return whether there was one."""
        with self._lock:
            edit = self._current.pop(client, None)
        if edit:
            edit.supersede()
        return edit is not None

    def recall(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the numbers, by target, of the latest edit with this code, function, arguments and options, or {}."""
        with self._lock:
            # The latest edit comes last, so the search starts at the end.
            for edit in reversed(self._edits.values()):
                if all(edit.request[name] == request[name] for name in ("code", "function", "arguments", "options")):
                    return dict(edit.seen)
        return {}

    def describe(self, code: str, function: str) -> dict[str, Any]:
        """Return the outline of code (see `code_outline.outline`) with the arguments of its last compilation."""
        (message,) = self._outliner.do({"code": code, "function": function}, OUTLINE, threading.Event())
        if message["kind"] != "outline":
            text = "Python's parser ends on this code" if message["kind"] == "failed" else "it was not read"
            error = {"message": text, "line": 1, "column": None, "end_line": None}
            return {"functions": [], "chosen": "", "arguments": "", "errors": [error]}
        data: dict[str, Any] = message["data"]
        with self._lock:
            arguments = self._known.get((code, data["chosen"]), "")
        return {**data, "arguments": arguments or data["arguments"]}

    def details(self, identity: str, target: str) -> dict[str, Any]:
        """Return the details of an edit's capture, which the explorer loads on demand.

        Raises:
            InspectError: No capture of the edit is stored, or it cannot be read.
        """
        with self._lock:
            edit = self._edits.get(identity)
            path = edit.stored.get(target) if edit else None
        if path is None or not path.is_file():
            text = "nothing is stored of this edit any more; change a character to compile it again"
            raise InspectError(text)
        compiler = self.compiler(find_target(target).kind)
        (message,) = compiler.do({"stored": path}, self.limits.compile, threading.Event())
        if message["kind"] != "details":
            text = message.get("failure", {}).get("message", "it cannot be read")
            raise InspectError(text)
        data: dict[str, Any] = message["data"]
        return data


def choose_memory() -> int:
    """Return the default memory limit in bytes: half of the machine's memory, at most 8 GiB."""
    return min((count_memory() or 16 << 30) // 2, 8 << 30)
