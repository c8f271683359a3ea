"""One build of a project: who runs its pages and hears of failures, what they came to, and what was counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from livepage.read.source_lines import relative
from livepage.read.this_project import EXTENSION, project

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mkdocs.config.defaults import MkDocsConfig

    from livepage.read.adapter import Term
    from livepage.read.blocks import Outcome, Source
    from livepage.read.source_lines import Failure


@dataclass(frozen=True)
class Answer:
    """The outcome of a page in another process.

    Attributes:
        key: A hash of the page's code.
        outcomes: What its pieces came to.
        text: What a notebook was converted to.
        inputs: What went into its outcomes.
        failure: Why there are none.
    """

    key: str = ""
    outcomes: list[Outcome] = field(default_factory=list)
    text: str = ""
    inputs: Any = None
    failure: Failure | None = None


class PageRanError(Exception):
    """The end of a page of which nothing is asked but that it runs."""


class PageError(Exception):
    """A page that failed, for builders that only stop at an exception."""


@dataclass
class Build:
    """A build of the pages, or of one of them.

    Attributes:
        report: Hears of a failure; None to raise `PageError` at the end of the page.
        current: The page being rendered, when the builder says so.
        started: When the build began, in seconds of the performance counter.
        elsewhere: Runs a page in another process and returns its answer, or None while it runs; None where each page
            runs in this one.
        only_run: Whether a page ends once its pieces ran.
        terms: The terms that its pages link.
        totals: How many pages, blocks, values and checks there were.
        missing: The targets that are missing, each with the reason.
        ran: The pages that ran for this build, in this process or in another.
        pending: The pages that still run in another process.
        sources: Each page as read, by name, with its outcomes.
        inputs: The inputs of the outcomes of each page, by name.
        rendered: The last rendering of each page, by its file below the folder of the pages.
    """

    report: Callable[[Failure], None] | None = None
    current: Path | None = None
    started: float = 0.0
    elsewhere: Callable[[str], Answer | None] | None = None
    only_run: bool = False
    terms: tuple[Term, ...] = ()
    totals: Counter[str] = field(default_factory=Counter)
    missing: dict[str, str] = field(default_factory=dict)
    ran: set[str] = field(default_factory=set)
    pending: set[str] = field(default_factory=set)
    sources: dict[str, tuple[Source, list[Outcome]]] = field(default_factory=dict)
    inputs: dict[str, Any] = field(default_factory=dict)
    rendered: dict[str, Any] = field(default_factory=dict)

    def find(self, text: str) -> tuple[str, int, str]:
        """Find the page that a Markdown text belongs to.

        Returns:
            The page's name relative to the project, the line on which the text begins (front matter stands above
            it), and the whole file. A text that no page holds is named `<page>`.
        """
        candidates = [self.current] if self.current else sorted((project.root / project.docs).rglob("*.md"))
        for path in candidates:
            whole = path.read_text(encoding="utf-8-sig")
            if whole.rstrip().endswith(text.rstrip()):
                above = whole.rstrip()[: len(whole.rstrip()) - len(text.rstrip())]
                return relative(path, project.root), above.count("\n") + 1, whole
        if self.current:
            return relative(self.current, project.root), 1, text
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


def find_build(config: MkDocsConfig) -> Build:
    """Return the build that a configuration belongs to."""
    build: Build = config.mdx_configs[EXTENSION]["build"]
    return build
