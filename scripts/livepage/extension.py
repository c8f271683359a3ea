"""The Python-Markdown extension that makes a page live, over markdown-exec.

It needs no hook: any builder that renders the same Markdown with this extension gets the same page, and an
exception at the end of a page that failed. `livepage.mkdocs_hook` only turns failures into MkDocs warnings.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element

from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.postprocessors import Postprocessor
from markdown.treeprocessors import Treeprocessor
from markdown.util import HTML_PLACEHOLDER_RE, AtomicString

from livepage import memo, rendering
from livepage.blocks import VALUE_MARK, Kind, read
from livepage.origins import Includes, Origin
from livepage.pages import PageError, project
from livepage.session import Failure, Outcome, remember

if TYPE_CHECKING:
    from markdown import Markdown

    from livepage.blocks import Source

_ID = re.compile(r'<[a-zA-Z][^<>]*?\sid="([^"]+)"')


class LivePages(Extension):
    """Runs a page's blocks, values and checks; configure it after `pymdownx.superfences` and `pymdownx.snippets`.

    Options:
        root: The project's folder, by default the current one.
        docs: The folder of the pages in it.
    """

    def __init__(self, **options: Any) -> None:
        """Take the options of the configuration."""
        self.config = {"root": [".", "The project's folder"], "docs": ["docs", "The folder of the pages"]}
        super().__init__(**options)

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - the name that Python-Markdown calls
        """Take the place of the snippet reader, and own the `python` fences."""
        if self.getConfig("root") != ".":
            project.root = Path(self.getConfig("root")).resolve()
        project.docs = Path(self.getConfig("docs"))
        options: dict[str, Any] = {"base_path": [str(project.root)], "check_paths": True}
        for extension in md.registeredExtensions:
            if type(extension).__name__ == "SnippetExtension":
                options = extension.getConfigs()
            if hasattr(extension, "get_pymdownx_highlighter"):
                extension.get_pymdownx_highlighter = rendering.highlighter
        page = Page(md)
        md.preprocessors.register(_PageReader(options, md, page), "snippet", 32)
        superfences = next(e for e in md.registeredExtensions if hasattr(e, "extend_super_fences"))
        superfences.extend_super_fences("python", page.show_fence, page.accept_fence, None)
        md.inlinePatterns.register(_ValuePattern(md, page), "livepage_value", 195)
        md.treeprocessors.register(_LastTree(md, page), "livepage_last", -100)
        md.postprocessors.register(_Finish(md, page), "livepage_finish", -100)


class Page:
    """One page while it is rendered."""

    def __init__(self, md: Markdown) -> None:
        """Begin with nothing read."""
        self.md = md
        self.source: Source | None = None
        self.outcomes: list[Outcome] = []
        self.shown: set[int] = set()
        self.failures: list[Failure] = []
        self.whole = ""
        self.complete = False

    @property
    def inner(self) -> bool:
        """Whether this renders the output of a block, not a page."""
        return hasattr(self.md, "_original_md")

    def start(self, lines: list[str], includes: Includes) -> list[str]:
        """Read and run the page, and return its lines with marks in place of what ran."""
        name, first, self.whole = project.find("\n".join(lines))
        self.shown, self.failures = set(), []
        includes.root = project.root
        text, origins = includes.expand(lines, name, first)
        self.source = read(name, text, origins)
        for file in {name, *(origin.file for origin in origins)}:
            path = project.root / file
            remember(file, path.read_text(encoding="utf-8-sig") if path.is_file() else self.whole)
        with contextlib.suppress(io.UnsupportedOperation, AttributeError, ValueError):
            # A compiler that aborts the process still leaves the page and line on stderr.
            faulthandler.enable()
        self.outcomes, ran = memo.outcomes(self.source)
        project.record(self.source, self.outcomes, ran=ran)
        self.failures = [Failure(fault.origin, fault.message) for fault in self.source.faults]
        self.failures += [o.failure for o in self.outcomes if o.failure and not o.follows]
        return list(self.source.lines)

    def accept_fence(
        self, language: str, inputs: dict[str, str], options: dict[str, Any], attrs: dict[str, str], md: Markdown
    ) -> bool:
        """Accept the fences that stand for pieces; leave the other `python` fences to the highlighter."""
        if "livepage" in inputs:
            options["index"] = int(inputs["livepage"])
            return True
        if "exec" in inputs or "check" in inputs:
            self._complain("a block printed a fence that would run: only the page's own fences run")
        return False

    def show_fence(self, src: str, language: str, options: dict[str, Any], md: Markdown, **_: Any) -> str:
        """Return the HTML of a piece that is a fence."""
        index = options["index"]
        assert self.source  # noqa: S101 - the mark was written by `start`
        self.shown.add(index)
        piece, outcome = self.source.pieces[index], self.outcomes[index]
        try:
            if piece.kind is Kind.CHECK:
                return rendering.show_check(md, piece, outcome)
            with rendering.block(md, piece):
                return rendering.show_block(md, piece, outcome, index)
        except Exception as error:  # noqa: BLE001 - superfences drops a formatter's exception without a word
            self.failures.append(Failure(piece.origin, f"{type(error).__name__}: {error}"))
            return ""

    def show_value(self, index: int) -> Element:
        """Return the element of a value."""
        self.shown.add(index)
        outcome = self.outcomes[index]
        element = Element("span", {"class": "value"})
        element.text = AtomicString(outcome.text)
        if outcome.gap:
            element.attrib = {"class": "gap", "title": outcome.gap}
            element.text = AtomicString(f"not available here ({outcome.target})")
        elif outcome.failure:
            element.attrib = {"class": "failed"}
            element.text = AtomicString("not shown")
        return element

    def finish(self, html: str) -> None:
        """Report what failed, what did not render and which ids stand twice."""
        assert self.source  # noqa: S101 - set by `start`
        for index, piece in enumerate(self.source.pieces):
            if index not in self.shown:
                where = "it stands inside code or raw HTML"
                self.failures.append(Failure(piece.origin, f"this {piece.kind} does not render here: {where}"))
        self.failures += self._duplicate_ids(html)
        for failure in sorted(self.failures, key=lambda failure: (failure.origin.file, failure.origin.line)):
            if project.report:
                project.report(failure)
        if self.failures and not project.report:
            raise PageError("\n".join(map(str, self.failures)))

    def _duplicate_ids(self, html: str) -> list[Failure]:
        assert self.source  # noqa: S101 - set by `start`
        seen, twice = set[str](), dict[str, None]()
        for name in _ID.findall(html):
            if name in seen:
                twice[name] = None
            seen.add(name)
        return [Failure(self._line_of(name), f'two elements have the id "{name}"') for name in twice]

    def _line_of(self, name: str) -> Origin:
        """Return the last line that names an id, or the block that printed it."""
        assert self.source  # noqa: S101 - set by `start`
        lines = self.whole.split("\n")
        named = [at for at, line in enumerate(lines, 1) if re.search(rf'[#"\']{re.escape(name)}\b', line)]
        if named:
            return Origin(self.source.name, named[-1])
        for piece, outcome in zip(reversed(self.source.pieces), reversed(self.outcomes), strict=True):
            if name in outcome.text:
                return piece.origin
        return Origin(self.source.name, 1)

    def _complain(self, message: str) -> None:
        page: Page = rendering.outer_page(self.md) or self
        piece = rendering.current_piece()
        origin = piece.origin if piece else Origin(page.source.name if page.source else "<page>", 1)
        page.failures.append(Failure(origin, message))


class _PageReader(Includes):
    """Expands includes, then reads and runs the page; inside a block's output it only expands includes."""

    def __init__(self, options: dict[str, Any], md: Markdown, page: Page) -> None:
        super().__init__(options, md)
        self.page = page
        self.md = md
        md.livepage = page  # type: ignore[attr-defined]  # how the output of a block finds its page

    def run(self, lines: list[str]) -> list[str]:
        if self.page.inner:
            rendering.adopt(self.md)
            return list(super().run(lines))
        return self.page.start(lines, self)


class _ValuePattern(InlineProcessor):
    """Puts a value in the place of its mark."""

    def __init__(self, md: Markdown, page: Page) -> None:
        super().__init__(rf"`{VALUE_MARK}(\d+)`", md)
        self.page = page

    def handleMatch(  # type: ignore[override]  # noqa: N802 - the name that Python-Markdown calls
        self, m: re.Match[str], data: str
    ) -> tuple[Element | None, int | None, int | None]:
        index = int(m[1])
        if self.page.inner or index >= len(self.page.outcomes):
            return None, None, None
        return self.page.show_value(index), m.start(0), m.end(0)


class _LastTree(Treeprocessor):
    """Notes that the tree is done: until then, others run the postprocessors on parts of the page."""

    def __init__(self, md: Markdown, page: Page) -> None:
        super().__init__(md)
        self.page = page

    def run(self, root: Element) -> None:
        self.page.complete = True
        for paragraph in root.iter("p"):
            # markdown-exec leaves a line break beside a block's output that holds headings: a `<p>` would stay.
            if HTML_PLACEHOLDER_RE.fullmatch((paragraph.text or "").strip()) and not len(paragraph):
                paragraph.text = (paragraph.text or "").strip()


class _Finish(Postprocessor):
    """Ends the page: nothing may have been dropped without a word."""

    def __init__(self, md: Markdown, page: Page) -> None:
        super().__init__(md)
        self.page = page

    def run(self, text: str) -> str:
        if self.page.complete and not self.page.inner:
            self.page.complete = False
            self.page.finish(text)
        return text


def makeExtension(**options: Any) -> LivePages:  # noqa: N802 - the name that Python-Markdown calls
    """Return the extension."""
    return LivePages(**options)
