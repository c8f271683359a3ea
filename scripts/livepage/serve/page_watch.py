"""Look for edits of pages many times a second, since they are few; the other files wait their turn."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from livepage.keep import stamp
from livepage.serve.last_build import list_states

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from livepage.keep import Stamp

EVERY = 0.02
"""Seconds between two looks at the pages."""
SELDOM = 25
"""At how many looks the whole folder has its turn."""


class PageWatch(threading.Thread):
    """A thread that says when something changed in the folder of the pages."""

    def __init__(self, folder: str, tell: Callable[[], None], stamps: Mapping[str, Stamp]) -> None:
        """Take the folder, whom to tell, and the state of its files in the last build."""
        super().__init__(daemon=True, name="page watch")
        self._folder, self._tell, self._stamps = folder, tell, stamps
        self._over = threading.Event()

    def run(self) -> None:
        """Look until it is over."""
        looks, seen = 0, list_states([self._folder])
        if any(self._stamps.get(path) != state for path, state in seen.items()):
            self._tell()
        while not self._over.wait(EVERY):
            looks += 1
            if looks % SELDOM:
                now = {**seen, **stamp(path for path in seen if path.endswith(".md"))}
            else:
                now = list_states([self._folder])
            if now != seen:
                self._tell()
            seen = now

    def end(self) -> None:
        """Look no longer."""
        self._over.set()
        if self.is_alive():
            self.join()
