"""The pages of a server that still run in other processes: the server shows every page at once and updates it later."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from livepage import build_progress
from livepage.keep import Inputs
from livepage.read import project
from livepage.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from livepage.read import Answer, Build

PATIENCE = 1.0
"""Seconds to wait for the outcomes of a single edited page before showing placeholders; most edits take less."""


class PagesPending:
    """The pages of a server that run in other processes: open pages first, then the others in reading order."""

    def __init__(self) -> None:
        """Start without pages."""
        self._workers = Workers([], on_done=self._hear)
        self._show: Callable[[Iterable[str]], None] = lambda _: None
        self._is_served = False
        self._looked_at: set[str] = set()
        self._arrived: set[str] = set()
        self._known: dict[str, tuple[Answer, Inputs]] = {}
        self._asked: dict[str, Inputs] = {}

    def begin(self, build: Build, pages: Sequence[str]) -> None:
        """Make a build that is starting run its pages in other processes.

        Args:
            build: The build.
            pages: The pages' names, relative to the project, in reading order.
        """
        self._workers.pages, self._workers.ran = pages, build.ran
        if not self._asked:
            self._workers.progress.begin()
        build.elsewhere = self._obtain

    def tell(self, show: Callable[[Iterable[str]], None]) -> None:
        """Set the function that shows finished pages, given by their names relative to the folder of the pages."""
        self._show, self._is_served = show, True
        # The processes only start now, since the first rendering of the pages should have all cores.
        self._workers.start()

    def prefer(self, page: str) -> None:
        """Run a waiting page next because a browser shows it, or show it if it has finished.

        The name is relative to the folder of the pages.
        """
        name = (project.docs / page).as_posix()
        self._looked_at.add(name)
        self._workers.prefer(name)
        if name in self._arrived:
            self._show([page])

    def settle(self, page: str) -> None:
        """Forget the answer for a page that was shown completely, possibly from the store.

        Otherwise each visit would show the page again, which reloads the browser, which visits the page again.
        """
        name = (project.docs / page).as_posix()
        self._asked.pop(name, None)
        self._arrived.discard(name)
        self._workers.answers.pop(name, None)

    def describe(self) -> bytes:
        """Return the progress as JSON: a share between 0 and 1, and a text."""
        progress = self._workers.progress
        share, text = (progress.find_share(), progress.describe()) if self._asked else (1, "")
        return json.dumps({"share": share, "text": text}).encode()

    def end(self) -> None:
        """End the processes."""
        self._workers.end()

    def _obtain(self, page: str) -> Answer | None:
        """Return the current outcomes of a page from another process, or start it there and return None."""
        answer = self._take(page)
        if answer is None and page not in self._asked:
            is_alone = not self._asked
            self._asked[page] = _list_own_files(page)
            self._workers.progress.costs |= build_progress.expect([page])
            self._workers.ask(page)
            if is_alone and self._is_served:
                self._workers.await_answer(page, PATIENCE)
                answer = self._take(page)
        return answer

    def _take(self, page: str) -> Answer | None:
        """Return the answer for a page's current text and code, or None if there is none."""
        if answer := self._workers.answers.pop(page, None):
            self._known[page] = answer, self._asked.pop(page, Inputs()) | (answer.inputs or Inputs())
        if page in self._known and self._known[page][1].are_same():
            return self._known[page][0]
        self._known.pop(page, None)
        return None

    def _hear(self, page: str) -> None:
        """Show a finished page if a browser is looking at it; show all of them after the last one has finished."""
        self._arrived.add(page)
        is_last = self._arrived >= self._asked.keys()
        if is_last or page in self._looked_at:
            folder = f"{project.docs.as_posix()}/"
            self._show([name.removeprefix(folder) for name in (sorted(self._arrived) if is_last else [page])])


def _list_own_files(page: str) -> Inputs:
    """Return the state of a page's file and of the project's code, either of which may cause the page to fail."""
    code = (project.root / "snippets").rglob("*.py")
    return Inputs.take([str(project.root / page), *map(str, code)])
