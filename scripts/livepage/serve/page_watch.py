"""Look for edits of pages many times a second, which costs little: they are few, and MkDocs looks at all its files."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from livepage.keep import outcomes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

EVERY = 0.02
"""Seconds between two looks."""


class PageWatch(threading.Thread):
    """A thread that says when one of the pages changed."""

    def __init__(self, pages: Callable[[], Iterable[str]], tell: Callable[[], None]) -> None:
        """Take what lists the paths of the pages, and whom to tell."""
        super().__init__(daemon=True, name="page watch")
        self._list_pages, self._tell = pages, tell
        self._seen = outcomes.stamp(pages())
        self._over = threading.Event()

    def run(self) -> None:
        """Look until it is over."""
        while not self._over.wait(EVERY):
            now = outcomes.stamp(self._list_pages())
            if any(self._seen.get(path, state) != state for path, state in now.items()):
                self._tell()
            self._seen = now

    def end(self) -> None:
        """Look no longer."""
        self._over.set()
        if self.is_alive():
            self.join()
