"""Let a server show every page at once: what still runs in other processes arrives page by page."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from livepage import build_progress, workers
from livepage.keep import Inputs
from livepage.read import project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from livepage.read import Answer, Build

PATIENCE = 1.0
"""Seconds that a page waits for what it comes to, where nothing else is waited for: most edits take less."""


class PagesPending:
    """The pages of one server that run in other processes, in reading order, the page that is open first."""

    def __init__(self) -> None:
        """Begin with none."""
        self._workers: workers.Workers | None = None
        self._progress: build_progress.Progress | None = None
        self._show: Callable[[Iterable[str]], None] | None = None
        self._show_later: Callable[[Iterable[str]], None] | None = None
        self._looked_at: set[str] = set()
        self._known: dict[str, tuple[Answer, Inputs]] = {}
        self._asked: dict[str, Inputs] = {}

    def begin(self, build: Build, pages: Sequence[str]) -> None:
        """Let the pages of a build that begins run elsewhere.

        Args:
            build: The build.
            pages: Their names, relative to the project, in the order in which they are read.
        """
        if self._workers is None:
            # Until the pages are there to be read, a core is left to those who make them.
            self._workers = workers.Workers(pages, on_done=self._hear, on_work=self._hear_of_work, most=1)
        self._workers.pages, self._workers.ran = pages, build.ran
        if not self._asked:
            self._progress = build_progress.Progress({})
        build.elsewhere = self._obtain

    def tell(self, show: Callable[[Iterable[str]], None], show_later: Callable[[Iterable[str]], None]) -> None:
        """Say who shows pages again that arrived, at once or in its time.

        Their names are relative to the folder of the pages.
        """
        self._show, self._show_later = show, show_later
        if self._workers is None:
            return
        self._workers.serves = True
        self._workers.widen()
        if arrived := [*self._workers.answers]:
            show(map(self._find_address, arrived))

    def prefer(self, page: str) -> None:
        """Let a page that waits run next, or be shown if it ran, since somebody looks at it.

        Its name is relative to that folder.
        """
        name = (project.docs / page).as_posix()
        self._looked_at.add(name)
        if self._workers:
            self._workers.prefer(name)
            if self._show and name in self._workers.answers:
                self._show([page])

    def settle(self, page: str) -> None:
        """Forget the answer for a page that is shown whole: it may have come from the store instead.

        Otherwise each visit would show the page again, and the browser that is reloaded would visit it again.
        """
        name = (project.docs / page).as_posix()
        self._asked.pop(name, None)
        if self._workers:
            self._workers.answers.pop(name, None)

    def describe(self) -> bytes:
        """Return how far it is, as JSON: a share from nothing to one, and words."""
        if not self._asked or self._progress is None:
            return b'{"share": 1, "text": ""}'
        return json.dumps({"share": self._progress.find_share(), "text": self._progress.describe()}).encode()

    def end(self) -> None:
        """End the processes."""
        if self._progress:
            self._progress.end()
        if self._workers:
            self._workers.end()
        self._workers = None

    def _obtain(self, page: str) -> Answer | None:
        """Return what a page came to in another process, where that is still so, or None and let it run there."""
        pool = self._workers
        if pool is None:
            return None
        answer = self._take(page)
        if answer is None and page not in self._asked:
            is_alone = not self._asked
            self._asked[page] = _list_own_files(page)
            if self._progress:
                self._progress.weights = {**self._progress.weights, **build_progress.weigh([page])}
            pool.ask_in_order(page)
            if is_alone and self._show:
                pool.await_answer(page, PATIENCE)
                answer = self._take(page)
        return answer

    def _take(self, page: str) -> Answer | None:
        """Return the answer for a page as it stands in its file now, if it is there."""
        pool = self._workers
        if pool and (answer := pool.answers.pop(page, None)):
            inputs = self._asked.pop(page, Inputs())
            met = answer.inputs or Inputs()
            self._known[page] = answer, replace(met, files={**inputs.files, **met.files})
        if page in self._known and self._known[page][1].are_same():
            return self._known[page][0]
        self._known.pop(page, None)
        return None

    def _hear(self, page: str) -> None:
        if self._progress:
            self._progress.note_done(page)
        is_last = self._workers is not None and set(self._asked) <= set(self._workers.answers)
        show = self._show if is_last or page in self._looked_at else self._show_later
        if show:
            show([self._find_address(page)])

    def _hear_of_work(self, page: str, work: str) -> None:
        if self._progress:
            self._progress.note_work(page, work)

    def _find_address(self, page: str) -> str:
        return page.removeprefix(f"{project.docs.as_posix()}/")


def _list_own_files(page: str) -> Inputs:
    """Return the state of a page's file, and of the project's code, which may be what it fails for."""
    code = (project.root / "snippets").rglob("*.py")
    return Inputs.take([str(project.root / page), *map(str, code)])
