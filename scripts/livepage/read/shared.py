"""What the pages of a build share: where the project lies, who hears of failures, and what was counted.

A module of its own, since MkDocs loads the file of a hook as a second instance of that module.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livepage.read.adapter import Adapter
from livepage.read.source_lines import relative

if TYPE_CHECKING:
    from collections.abc import Callable

    from livepage.read.blocks import Outcome, Source
    from livepage.read.source_lines import Failure

log = logging.getLogger("mkdocs.plugins.livepage")
"""The log that a build listens to."""


GARBAGE = (100_000, 50, 50)
"""When Python looks for garbage: pages make many small objects that live for long, and by its own thresholds it would
search all that they import hundreds of times."""


WAITS = '<p class="waiting">This still runs; what it shows will stand here.</p>'
"""What stands in a server's page for what is not there yet."""


@dataclass(frozen=True)
class Answer:
    """What a page came to in another process.

    Attributes:
        data: Its outcomes or its text, as JSON holds them.
        failure: Why there are none.
    """

    data: Any = None
    failure: Failure | None = None


class PageRanError(Exception):
    """The end of a page of which nothing is asked but that it runs."""


class PageError(Exception):
    """A page that failed, for builders that only stop at an exception."""


@dataclass
class Project:
    """The project whose pages are read.

    Attributes:
        root: The folder that names in reports are relative to.
        docs: The folder of the pages.
        adapter: What the project adds.
        current: The page being rendered, when the builder says so.
        started: When the build began, in seconds of the performance counter.
        report: Who hears of a failure; None to raise `PageError` at the end of the page.
        totals: How many pages, blocks, values and checks there were.
        missing: The targets that are missing, each with the reason.
        elsewhere: What runs a page in another process and returns what it came to, or None while it runs; None where
            each page runs in this one.
        only_run: Whether a page ends once its pieces ran.
        ran: The pages that ran for this build, in this process or in another.
        pending: The pages that still run in another process.
        sources: Each page as read, by name, with what its pieces came to.
    """

    root: Path = field(default_factory=Path.cwd)
    docs: Path = Path("docs")
    adapter: Adapter = field(default_factory=Adapter)
    current: Path | None = None
    started: float = 0.0
    report: Callable[[Failure], None] | None = None
    totals: Counter[str] = field(default_factory=Counter)
    missing: dict[str, str] = field(default_factory=dict)
    elsewhere: Callable[[str], Answer | None] | None = None
    only_run: bool = False
    ran: set[str] = field(default_factory=set)
    pending: set[str] = field(default_factory=set)
    sources: dict[str, tuple[Source, list[Outcome]]] = field(default_factory=dict)

    def find(self, text: str) -> tuple[str, int, str]:
        """Find the page that a Markdown text belongs to.

        Returns:
            The page's name relative to the project, the line on which the text begins (front matter stands above
            it), and the whole file. A text that no page holds is named `<page>`.
        """
        candidates = [self.current] if self.current else sorted((self.root / self.docs).rglob("*.md"))
        for path in candidates:
            whole = path.read_text(encoding="utf-8-sig")
            if whole.rstrip().endswith(text.rstrip()):
                above = whole.rstrip()[: len(whole.rstrip()) - len(text.rstrip())]
                return relative(path, self.root), above.count("\n") + 1, whole
        if self.current:
            return relative(self.current, self.root), 1, text
        return "<page>", 1, text

    def record(self, source: Source, outcomes: list[Outcome], *, ran: bool) -> None:
        """Count what a page came to."""
        self.sources[source.name] = source, outcomes
        self.totals["pages"] += 1
        if ran:
            self.ran.add(source.name)
        for piece, outcome in zip(source.pieces, outcomes, strict=True):
            self.totals[f"{piece.kind}s"] += 1
            if outcome.gap:
                self.totals["gaps"] += 1
                self.missing[outcome.target] = outcome.gap
        if source.name.endswith(".md"):  # whether a notebook still runs, its Markdown does not say
            self.pending.discard(source.name)
        if any(outcome.waits for outcome in outcomes):
            self.pending.add(source.name)

    def clear(self) -> None:
        """Forget the counts of the last build."""
        self.totals.clear()
        self.missing.clear()
        self.pending.clear()
        self.ran.clear()
        self.sources.clear()


project = Project()
"""The project of this process."""
