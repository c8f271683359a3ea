"""The process that runs pages of a copy of the project, and the limits that it is held to."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from livepage.edits.project_copy import ProjectCopy

_LAST = frozenset({"page", "failed", "ready", "stopped"})
_LOOK = 0.1
"""Seconds between two looks at how the process does."""
_GRACE = 3.0
"""Seconds that it has to stop a run before it is ended."""


@dataclass(frozen=True)
class Limits:
    """What a run may take.

    Attributes:
        seconds: How long it may take.
        memory: Bytes that the process and those which it started may hold.
        output: Bytes of what it tells, and of any file that it writes.
    """

    seconds: float = 120.0
    memory: int = 6 * 2**30
    output: int = 256 * 2**20


class PageChild:
    """A process that waits for jobs, or will be one once there is a job."""

    def __init__(self, copy: ProjectCopy, project: Path, limits: Limits) -> None:
        """Begin with no process.

        Args:
            copy: Where it runs.
            project: The folder of the project, for what is on Python's path.
            limits: What a run may take.
        """
        self._copy, self._project, self._limits = copy, project, limits
        self._process: subprocess.Popen[bytes] | None = None
        self._told: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()

    def run(self, job: dict[str, Any], is_over: threading.Event) -> Iterator[dict[str, Any]]:
        """Yield what a job comes to, event by event; an empty one where there is nothing new.

        Args:
            job: What to do, as `livepage.edits.edited_page` takes it.
            is_over: Set where nobody wants it any longer.
        """
        process = self._start()
        begun, is_done = time.monotonic(), False
        try:
            with contextlib.suppress(OSError):
                process.stdin.write(json.dumps(job).encode() + b"\n")  # type: ignore[union-attr]  # a pipe
                process.stdin.flush()  # type: ignore[union-attr]  # likewise
            while not is_done:
                try:
                    told = self._told.get(timeout=_LOOK)
                except queue.Empty:
                    told = {}
                if told is None:
                    is_done, told = True, self._explain(process)
                elif told.get("job", job["job"]) != job["job"]:
                    continue  # of a run that ended meanwhile
                elif is_over.is_set():
                    is_done, told = True, {"event": "superseded"}
                    self._stop(process)
                elif excess := self._find_excess(process, begun):
                    is_done, told = True, {"event": "failed", **excess}
                    self.end()
                elif told.get("event") in _LAST:
                    is_done = True
                yield told
        finally:
            if not is_done:
                self._stop(process)

    def end(self) -> None:
        """End the process, with all that it started."""
        process, self._process = self._process, None
        if process:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process and self._process.poll() is None:
            return self._process
        self.end()
        paths = [Path(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
        inside = [self._copy.root / name for name in ("snippets", "scripts") if (self._copy.root / name).is_dir()]
        moved = [
            self._copy.root / path.relative_to(self._project) if path.is_relative_to(self._project) else path
            for path in paths
        ]
        variables = {
            **os.environ, **self._copy.variables, "PYTHONPATH": os.pathsep.join(map(str, [*inside, *moved])),
            "PYTHONUNBUFFERED": "1",
        }  # fmt: skip
        self._process = subprocess.Popen(
            [sys.executable, "-m", "livepage.edits.edited_page", str(self._limits.output)],
            cwd=self._copy.root, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        self._told = queue.SimpleQueue()
        threading.Thread(target=_hear, args=(self._process, self._told, self._limits.output), daemon=True).start()
        return self._process

    def _stop(self, process: subprocess.Popen[bytes]) -> None:
        """Let a run end that nobody wants, and the process with it where it does not."""
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        end = time.monotonic() + _GRACE
        while (left := end - time.monotonic()) > 0:
            try:
                told = self._told.get(timeout=left)
            except queue.Empty:
                break
            if told is None:
                break
            if told.get("event") in _LAST:
                return
        self.end()

    def _find_excess(self, process: subprocess.Popen[bytes], begun: float) -> dict[str, Any] | None:
        limits = self._limits
        if time.monotonic() - begun > limits.seconds:
            return {"kind": "time", "message": f"It was ended after {limits.seconds:.0f} seconds."}
        if (held := _measure(process.pid)) > limits.memory:
            allowed = f"{limits.memory / 2**30:.1f} GiB"
            return {
                "kind": "memory",
                "message": f"It was ended: it held {held / 2**30:.1f} GiB, and may hold {allowed}.",
            }
        return None

    def _explain(self, process: subprocess.Popen[bytes]) -> dict[str, Any]:
        code = process.wait()
        self.end()
        how = f"signal {-code}" if code < 0 else f"exit status {code}"
        return {"event": "failed", "kind": "crash", "message": f"The process that ran this ended, with {how}."}


def _hear(process: subprocess.Popen[bytes], told: queue.SimpleQueue[dict[str, Any] | None], most: int) -> None:
    """Hand on what a process tells, line by line; end it where a line is too long."""
    output = process.stdout
    while output and (line := output.readline(most)):
        if not line.endswith(b"\n"):
            break
        try:
            told.put(json.loads(line))
        except ValueError:
            continue
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    told.put(None)


def _measure(session: int) -> int:
    """Return the bytes that the processes of a session hold, or nothing where the system does not tell."""
    total, page = 0, os.sysconf("SC_PAGE_SIZE")
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            total += int(fields[21]) * page
    return total
