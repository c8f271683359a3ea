"""Let a server show every page at once: what still runs in other processes arrives page by page."""

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
"""Seconds that a page waits for what it comes to, where nothing else is waited for: most edits take less."""


class PagesPending:
    """The pages of one server that run in other processes, in reading order, the page that is open first."""

    def __init__(self) -> None:
        """Begin with none."""
        self._workers = Workers([], on_done=self._hear)
        self._show: Callable[[Iterable[str]], None] = lambda _: None
        self._is_served = False
        self._looked_at: set[str] = set()
        self._arrived: set[str] = set()
        self._known: dict[str, tuple[Answer, Inputs]] = {}
        self._asked: dict[str, Inputs] = {}

    def begin(self, build: Build, pages: Sequence[str]) -> None:
        """Let the pages of a build that begins run elsewhere.

        Args:
            build: The build.
            pages: Their names, relative to the project, in the order in which they are read.
        """
        self._workers.pages, self._workers.ran = pages, build.ran
        if not self._asked:
            self._workers.progress.begin()
        build.elsewhere = self._obtain

    def tell(self, show: Callable[[Iterable[str]], None]) -> None:
        """Say who shows pages again that arrived, by their names relative to the folder of the pages."""
        self._show, self._is_served = show, True
        # Until the pages are there to be read, all cores are left to those who make them.
        self._workers.start()

    def prefer(self, page: str) -> None:
        """Let a page that waits run next, or be shown if it ran, since somebody looks at it.

        Its name is relative to that folder.
        """
        name = (project.docs / page).as_posix()
        self._looked_at.add(name)
        self._workers.prefer(name)
        if name in self._arrived:
            self._show([page])

    def settle(self, page: str) -> None:
        """Forget the answer for a page that is shown whole: it may have come from the store instead.

        Otherwise each visit would show the page again, and the browser that is reloaded would visit it again.
        """
        name = (project.docs / page).as_posix()
        self._asked.pop(name, None)
        self._arrived.discard(name)
        self._workers.answers.pop(name, None)

    def describe(self) -> bytes:
        """Return how far it is, as JSON: a share from nothing to one, and words."""
        progress = self._workers.progress
        share, text = (progress.find_share(), progress.describe()) if self._asked else (1, "")
        return json.dumps({"share": share, "text": text}).encode()

    def end(self) -> None:
        """End the processes."""
        self._workers.end()

    def _obtain(self, page: str) -> Answer | None:
        """Return what a page came to in another process, where that is still so, or None and let it run there."""
        answer = self._take(page)
        if answer is None and page not in self._asked:
            is_alone = not self._asked
            self._asked[page] = _list_own_files(page)
            self._workers.progress.weights |= build_progress.weigh([page])
            self._workers.ask(page)
            if is_alone and self._is_served:
                self._workers.await_answer(page, PATIENCE)
                answer = self._take(page)
        return answer

    def _take(self, page: str) -> Answer | None:
        """Return the answer for a page as it stands in its file now, if it is there."""
        if answer := self._workers.answers.pop(page, None):
            self._known[page] = answer, self._asked.pop(page, Inputs()) | (answer.inputs or Inputs())
        if page in self._known and self._known[page][1].are_same():
            return self._known[page][0]
        self._known.pop(page, None)
        return None

    def _hear(self, page: str) -> None:
        """Show a page that somebody looks at, and all of them once the last one arrived."""
        self._arrived.add(page)
        is_last = self._arrived >= self._asked.keys()
        if is_last or page in self._looked_at:
            folder = f"{project.docs.as_posix()}/"
            self._show([name.removeprefix(folder) for name in (sorted(self._arrived) if is_last else [page])])


def _list_own_files(page: str) -> Inputs:
    """Return the state of a page's file, and of the project's code, which may be what it fails for."""
    code = (project.root / "snippets").rglob("*.py")
    return Inputs.take([str(project.root / page), *map(str, code)])
