"""The state of one build: the functions that run pages and receive failures, the outcomes, and the totals."""

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
    """The outcomes of a page that ran in another process.

    Attributes:
        key: A hash of the page's code.
        outcomes: The outcomes of the page's pieces.
        text: The Markdown of a converted notebook.
        inputs: The inputs of the outcomes.
        failure: The failure, if there are no outcomes.
    """

    key: str = ""
    outcomes: list[Outcome] = field(default_factory=list)
    text: str = ""
    inputs: Any = None
    failure: Failure | None = None


class PageRanError(Exception):
    """The signal that ends a page after its code ran, if nothing needs to be rendered."""


class PageError(Exception):
    """The failures of a page, for builders that only stop at an exception."""


@dataclass
class Build:
    """A build of all pages, or of one of them.

    Attributes:
        report: The function that receives failures; None to raise `PageError` at the end of a page instead.
        current: The page being rendered, if the builder sets it.
        started: The start time of the build, in seconds of the performance counter.
        elsewhere: A function that runs a page in another process and returns its answer, or None while the page runs.
            If the attribute is None, each page runs in this process.
        shows_failures: Whether pages show their failures, because the build does not end at one.
        only_run: Whether a page ends once its pieces have run.
        terms: The terms that the pages link.
        totals: The numbers of pages, blocks, values and checks.
        missing: The missing targets, each with the reason.
        ran: The pages that ran for this build, in this process or in another.
        pending: The pages that are still running in another process.
        sources: Each page as read, with its outcomes, by name.
        inputs: The inputs of each page's outcomes, by name.
        rendered: The last rendering of each page, by its file relative to the folder of the pages.
    """

    report: Callable[[Failure], None] | None = None
    current: Path | None = None
    started: float = 0.0
    elsewhere: Callable[[str], Answer | None] | None = None
    shows_failures: bool = False
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
            The page's name relative to the project, the line on which the text begins below the front matter, and the
            whole file. A text that belongs to no page gets the name `<page>`.
        """
        candidates = [self.current] if self.current else sorted((project.root / project.docs).rglob("*.md"))
        for path in candidates:
            whole = path.read_text(encoding="utf-8-sig")
            # Python-Markdown passes on a text without its file name, so the page is recognized by its content.
            if whole.rstrip().endswith(text.rstrip()):
                above = whole.rstrip()[: len(whole.rstrip()) - len(text.rstrip())]
                return relative(path, project.root), above.count("\n") + 1, whole
        if self.current:
            return relative(self.current, project.root), 1, text
        return "<page>", 1, text

    def record(self, source: Source, outcomes: list[Outcome], *, ran: bool) -> None:
        """Store the outcomes of a page, and add them to the totals; `ran` says whether its code ran for this build."""
        self.sources[source.name] = source, outcomes
        self.totals["pages"] += 1
        if ran:
            self.ran.add(source.name)
        for piece, outcome in zip(source.pieces, outcomes, strict=True):
            self.totals[f"{piece.kind}s"] += 1
            if outcome.gap:
                self.totals["gaps"] += 1
                self.missing[outcome.target] = outcome.gap
        if source.name.endswith(".md"):  # the Markdown of a notebook does not show whether it still runs
            self.pending.discard(source.name)
        if any(outcome.waits for outcome in outcomes):
            self.pending.add(source.name)


def find_build(config: MkDocsConfig) -> Build:
    """Return the build that a configuration belongs to."""
    build: Build = config.mdx_configs[EXTENSION]["build"]
    return build
