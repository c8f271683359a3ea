"""The edits of one window of a browser: one runs at a time, and the last is the one that counts."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from livepage.edits.page_child import Limits, PageChild
from livepage.edits.project_copy import ProjectCopy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path


class EditSession:
    """A copy of the project with a process in it, both made when they are first needed."""

    def __init__(self, project: Path, find_caches: Callable[[], Mapping[str, Path]], limits: Limits) -> None:
        """Begin with neither.

        Args:
            project: The folder of the project.
            find_caches: What says where its caches lie, as `ProjectCopy` takes them.
            limits: What a run may take.
        """
        self._project, self._find_caches, self._limits = project, find_caches, limits
        self._turn = threading.Lock()
        self._guard = threading.Lock()
        self._last = threading.Event()
        self._child: PageChild | None = None
        self._copy: ProjectCopy | None = None
        self._count = 0
        self._doing = "The page is made ready"
        self._is_ended = False
        self.used = time.monotonic()

    def prepare(self, page: str, file: str) -> None:
        """Let the process begin with what an edit of a page will need, in a thread of its own."""
        job = {"page": page, "file": file, "text": None}
        threading.Thread(target=lambda: [*self._go(job, threading.Event())], daemon=True).start()

    def run(self, page: str, file: str, text: str) -> Iterator[dict[str, Any]]:
        """Yield what a page comes to where a file holds a text; an empty event where there is nothing new.

        Args:
            page: The page's file, relative to the folder of the pages.
            file: The file, relative to the project.
            text: Its text.
        """
        is_over = threading.Event()
        with self._guard:
            self._last.set()
            self._last = is_over
        yield from self._go({"page": page, "file": file, "text": text}, is_over)

    def stop(self) -> None:
        """Let what runs end."""
        self._last.set()

    def end(self) -> None:
        """End the process, and remove the copy."""
        self._is_ended = True
        self._last.set()
        if self._child:
            self._child.end()
        if self._copy:
            self._copy.remove()

    def _go(self, job: dict[str, Any], is_over: threading.Event) -> Iterator[dict[str, Any]]:
        self.used = time.monotonic()
        while not self._turn.acquire(timeout=0.2):
            if is_over.is_set():
                yield {"event": "superseded"}
                return
            yield {"event": "work", "text": self._doing}
        try:
            if is_over.is_set() or self._is_ended:
                yield {"event": "superseded"}
                return
            self._copy = self._copy or ProjectCopy(self._project, self._find_caches())
            self._child = self._child or PageChild(self._copy, self._project, self._limits)
            self._copy.put(job["file"], (self._project / job["file"]).read_text(encoding="utf-8"))
            self._count += 1
            for told in self._child.run({**job, "job": self._count}, is_over):
                self._doing = told.get("text", self._doing)
                yield told
        finally:
            self.used = time.monotonic()
            self._turn.release()
