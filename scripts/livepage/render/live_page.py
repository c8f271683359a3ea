"""One page during its conversion: it is read, run, displayed, and finally compared with the source."""

from __future__ import annotations

import contextlib
import faulthandler
import io
import re
from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from xml.etree.ElementTree import Element, SubElement

from markdown.util import AtomicString

from livepage.keep import outcomes
from livepage.read import Failure, Kind, Origin, PageError, PageRanError, project, read_pieces, read_sentences
from livepage.render import check_marks, failure_notes, html_output
from livepage.run import remember, sentence_checks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from markdown import Markdown

    from livepage.read import Build, Includes, Outcome, Piece, Source

_ID = re.compile(r'<[a-zA-Z][^<>]*?\sid="([^"]+)"')
_SOURCE_LINK = re.compile(r"(?![a-z]+:|/)[^?#]*\.(?:md|ipynb)(?:#|$)")
_LINK = re.compile(r'<[a-zA-Z][^<>]*?\shref="([^"]*)"')


class Page:
    """A page while it is rendered, or the output of one of its blocks."""

    def __init__(self, md: Markdown, build: Build) -> None:
        """Start with an empty page."""
        self.md, self.build = md, build
        self.shown: Piece | None = None
        self.complete = False
        self._source: Source | None = None
        self._outcomes: list[Outcome] = []
        self._shown: set[int] = set()
        self._failures: list[Failure] = []
        self._noted = 0
        self._whole = ""
        self._links: set[str] = set()
        self._editors = 0

    @property
    def inner(self) -> bool:
        """True for the output of a block, and False for the page itself."""
        return html_output.outer(self.md) is not None

    @property
    def source(self) -> Source:
        """The page as read; before that, PageError is raised."""
        if self._source is None:
            message = "the page has not been read: is `livepage.extension` listed in the configuration?"
            raise PageError(message)
        return self._source

    def start(self, lines: list[str], includes: Includes) -> list[str]:
        """Read and run the page, and return its lines with placeholders for the pieces that ran.

        Raises:
            PageRanError: The build only runs pages, and this page has run.
        """
        name, first, self._whole = self.build.find("\n".join(lines))
        self._shown, self._failures, self.complete = set(), [], False
        self._links, self._editors = set(), 0
        text, origins, missing = includes.expand(lines, name, first)
        self._source = source = read_pieces(name, text, origins)
        self._failures += missing
        for file in {name, *(origin.file for origin in origins)}:
            path = project.root / file
            remember(file, path.read_text(encoding="utf-8-sig") if path.is_file() else self._whole)
        with contextlib.suppress(io.UnsupportedOperation, AttributeError, ValueError):
            # With faulthandler, a process that is ended by a signal prints its Python stack to stderr.
            faulthandler.enable()
        self._outcomes, ran = outcomes.obtain(source, self.build)
        self.build.record(source, self._outcomes, ran=ran)
        if self.build.only_run:
            raise PageRanError
        self._failures += source.faults
        self._failures += self._judge(source)
        self._noted = len(self._failures)
        return failure_notes.place_notes(source, self._failures) if self.build.shows_failures else list(source.lines)

    def _judge(self, source: Source) -> list[Failure]:
        """Return the page's failures: failed pieces, sentences that a failed check backs, and unaffirmed sentences."""
        # The sentences of a notebook are checked in its own file, not in the Markdown that it is converted to.
        prose = read_sentences(source.name, self._whole if source.name.endswith(".md") else "")
        failures = sentence_checks.judge_sentences(prose) if source.name.endswith(".md") else []
        for piece, outcome in zip(source.pieces, self._outcomes, strict=True):
            if outcome.failure and not outcome.follows:
                title = piece.options.get("check", "")
                failures.append(
                    sentence_checks.explain_failure(outcome.failure, title, prose) if title else outcome.failure
                )
        return failures

    def name_editor(self) -> str:
        """Return the prefix of the ids of the next editor on the page."""
        self._editors += 1
        return f"editor-{self._editors}"

    def show_fence(self, index: int, options: dict[str, Any]) -> str:
        """Return the HTML of a block, with the options that markdown-exec read, or of a check, which has no options."""
        self._shown.add(index)
        piece, outcome = self.source.pieces[index], self._outcomes[index]
        try:
            if piece.kind is Kind.CHECK:
                return html_output.show_check(self.md, piece, outcome, index)
            self.shown = piece
            return html_output.show_block(self.md, piece, outcome, index, options)
        except Exception as error:  # noqa: BLE001 - superfences silently drops the exceptions of a formatter
            self.complain(f"{type(error).__name__}: {error}", piece.origin)
            return ""
        finally:
            self.shown = None

    def show_value(self, index: int) -> Element:
        """Return the element that displays a value."""
        self._shown.add(index)
        outcome = self._outcomes[index]
        element = Element("span", {"class": "value"})
        element.text = AtomicString(outcome.text)
        if outcome.exact:
            element.set("data-exact", outcome.exact)
            element.set("tabindex", "0")
        if outcome.waits:
            element.attrib = {"class": "waiting"}
            element.text = AtomicString("(still runs)")
        elif outcome.gap:
            element.attrib = {"class": "gap", "title": outcome.gap}
            element.text = AtomicString(f"(needs {outcome.target})")
        elif outcome.failure:
            element.attrib = {"class": "failed"}
            element.text = AtomicString("(not shown)")
        return element

    def place_marks(self, root: Element) -> None:
        """Add the check marks to the sentences, and list the tools that produced the page's values at its foot."""
        if self.inner:
            return
        check_marks.place_marks(self.md, root)
        if self._outcomes and (makers := self._outcomes[-1].made):
            foot = SubElement(root, "p", {"class": "made"})
            foot.text = AtomicString(f"Made when this page was built: {'; '.join(makers)}.")

    def note_links(self, links: Iterable[str]) -> None:
        """Record the links that Markdown created; MkDocs checks these itself."""
        self._outer()._links.update(links)  # noqa: SLF001 - its own class

    def miss(self, reference: str) -> None:
        """Report an undefined reference such as `[text][name]` or `[^1]`."""
        self.complain(f'nothing defines "{reference}"', None if self.inner else self._line_of(reference))

    def complain(self, message: str, origin: Origin | None = None) -> None:
        """Add a failure at `origin`, by default at the block whose output is being rendered."""
        page = self._outer()
        piece = page.shown
        where = origin or (piece.origin if piece else Origin(page.source.name, 1))
        page._failures.append(Failure(where, message))  # noqa: SLF001 - its own class

    def finish(self, html: str) -> str:
        """Report all failures, including pieces that did not render, duplicate ids and dead links.

        Returns:
            The HTML, with the failures that were found in it at the top if the build shows failures.

        Raises:
            PageError: There are failures, and the build has no function that receives them.
        """
        html_output.end_page()
        for index, piece in enumerate(self.source.pieces):
            if index not in self._shown:
                message = f"this {piece.kind} is not on the page: it stands inside code or raw HTML"
                self.complain(message, piece.origin)
        ids = _ID.findall(html)
        for name in (name for name, number in Counter(ids).items() if number > 1):
            self.complain(f'two elements have the id "{name}"', self._line_of(f"#{name}"))
        for link in dict.fromkeys(_LINK.findall(html)):
            if self._is_dead(link, ids):
                self.complain(f'the link "{link}" leads nowhere', self._line_of(link))
        notes = "".join(
            map(failure_notes.write_note, self._failures[self._noted :] if self.build.shows_failures else ())
        )
        self._failures.sort(key=lambda failure: (failure.origin.file, failure.origin.line))
        if self.build.report:
            for failure in self._failures:
                self.build.report(failure)
        elif self._failures:
            raise PageError("\n".join(map(str, self._failures)))
        return f"{notes}\n{html}" if notes else html

    def _outer(self) -> Page:
        outer = html_output.outer(self.md)
        return getattr(outer, "livepage", self) if outer else self

    def _is_dead(self, link: str, ids: list[str]) -> bool:
        """Return whether a link misses its id on the page, or still points to a source file instead of a page.

        MkDocs checks and rewrites the links that Markdown created, but not those in raw HTML.
        """
        checked = "relpath" in self.md.treeprocessors
        if checked and link in self._links:
            return False
        if anchor := project.adapter.find_anchor(link):
            return anchor not in ids
        if link.startswith("#"):
            return len(link) > 1 and unquote(link[1:]) not in ids
        return checked and _SOURCE_LINK.match(link) is not None

    def _line_of(self, text: str) -> Origin:
        """Return the last line that contains a text such as `#id`, the block that printed it, or the first line."""
        pattern = re.compile(rf"{re.escape(text)}(?![\w-])|id=[\"']{re.escape(text[1:])}[\"']")
        lines = [at for at, line in enumerate(self._whole.split("\n"), 1) if pattern.search(line)]
        if lines:
            return Origin(self.source.name, lines[-1])
        for piece, outcome in zip(reversed(self.source.pieces), reversed(self._outcomes), strict=True):
            if pattern.search(outcome.text) or text.startswith(f"#{piece.options.get('id')}-"):
                return piece.origin
        return Origin(self.source.name, 1)
