"""The Python-Markdown extension that makes a page live, on top of markdown-exec.

It needs no hook: any builder that renders the same Markdown with this extension gets the same page, and an
exception at the end of a page that failed. `livepage.mkdocs_hook` turns these failures into MkDocs warnings.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import SubElement

from markdown.blockprocessors import BlockProcessor
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.postprocessors import Postprocessor
from markdown.treeprocessors import Treeprocessor
from markdown.util import HTML_PLACEHOLDER_RE, AtomicString
from markdown_exec import formatter, formatters, validator

from livepage.read import VALUE_MARK, Build, Includes, load_adapter, project
from livepage.render import Page, html_output

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from markdown import Markdown

_ELEMENT = re.compile(r"<(?P<tag>[a-z]\w*)\b(?![^>]*\bmarkdown=).*</(?P=tag)>\s*\Z", re.DOTALL)


_UNDEFINED = re.compile(r"(?<![\w\]])\[[^\[\]\n]+\]\[[^\[\]\n]*\]|\[\^[^\[\]\s]+\]")


class LivePages(Extension):
    """The extension that runs a page's blocks, values and checks.

    List it after `pymdownx.superfences` and `pymdownx.snippets`.

    Options:
        root: The project's folder; the current folder by default.
        docs: The folder of the pages, relative to the project.
        adapter: The name of the module that holds the project's own additions.
        build: The build that pages belong to; by default each converter gets its own.
    """

    def __init__(self, **options: object) -> None:
        """Read the options from the configuration."""
        self.config = {
            "root": ["", "The project's folder"],
            "docs": ["docs", "The folder of the pages"],
            "adapter": ["", "The module that holds what the project adds"],
            "build": ["", "The build that pages belong to"],
        }
        super().__init__(**options)

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - the name that Python-Markdown calls
        """Register the processors that read, run, show and check a page, in place of the snippet reader."""
        md.registerExtension(self)
        html_output.register()
        if self.getConfig("root"):
            project.root, project.docs = Path(self.getConfig("root")).resolve(), Path(self.getConfig("docs"))
        project.adapter = load_adapter(self.getConfig("adapter"))
        md.livepage = Page(md, self.getConfig("build") or Build())  # type: ignore[attr-defined]  # where processors find it
        snippets: dict[str, Any] = {}
        for extension in md.registeredExtensions:
            if hasattr(extension, "get_pymdownx_highlighter"):
                extension.get_pymdownx_highlighter = lambda: html_output.Lean
            if hasattr(extension, "extend_super_fences"):
                for language in formatters:
                    extension.extend_super_fences(language, _format_block, _accept_block, None)
            if type(extension).__name__ == "SnippetExtension":
                snippets = extension.getConfigs()
        # Registering under the name of an existing processor replaces it: includes need the origins of their lines.
        md.preprocessors.register(_Read(md, project.root, **snippets), "snippet", 32)
        md.parser.blockprocessors.register(_IndentedHtml(md.parser), "livepage_html", 85)
        md.inlinePatterns.register(_Value(rf"`{VALUE_MARK}(\d+)`", md), "livepage_value", 195)
        md.treeprocessors.register(_References(md), "livepage_references", 5)
        md.treeprocessors.register(_LastTree(md), "livepage_last", -100)
        md.postprocessors.register(_Finish(md), "livepage_finish", -100)


def _accept_block(language: str, inputs: dict[str, str], *rest: Any) -> bool:  # noqa: ANN401 - as the validator takes them
    """Return whether markdown-exec accepts a fence; report a failure if the output of a block contains a check."""
    page: Page = rest[-1].livepage
    if page.inner and "check" in inputs:
        page.complain("a block printed a check: only the page's own checks are run")
    accepted: bool = validator(language, inputs, *rest)
    return accepted


def _format_block(*, src: str, language: str, options: dict[str, Any], md: Markdown, **_: object) -> str:
    """Return the HTML that markdown-exec makes of a fence from `pymdownx.superfences`."""
    return formatter(src, language, "", options, md)


class _OfPage:
    """A processor that has access to the page being converted."""

    md: Markdown

    @property
    def page(self) -> Page:
        """The page that this converter renders."""
        page: Page = self.md.livepage  # type: ignore[attr-defined]  # set by `LivePages`
        return page


class _Read(_OfPage, Includes):
    """The preprocessor that expands includes, then reads and runs the page.

    In the output of a block it only expands includes.
    """

    def run(self, lines: list[str]) -> list[str]:
        if self.page.inner:
            html_output.adopt(self.md)
            return list(super().run(lines))
        return self.page.start(lines, self)


class _IndentedHtml(BlockProcessor):
    """The block processor for HTML blocks inside folds and tabs; Python-Markdown only recognizes them at the margin.

    Such a block would otherwise end up in a `<p>`, which a browser closes at the `<figure>` or `<div>` inside it.
    """

    def test(self, parent: Element, block: str) -> bool:  # noqa: ARG002 - part of the signature
        match = _ELEMENT.match(block)
        return bool(match and self.parser.md.is_block_level(match["tag"]))

    def run(self, parent: Element, blocks: list[str]) -> None:
        SubElement(parent, "p").text = self.parser.md.htmlStash.store(blocks.pop(0).strip())


class _Value(_OfPage, InlineProcessor):
    """The inline processor that replaces the placeholder of a value with the value."""

    def handleMatch(  # type: ignore[override]  # noqa: N802 - the name that Python-Markdown calls
        self,
        m: re.Match[str],
        data: str,  # noqa: ARG002 - part of the signature
    ) -> tuple[Element | None, int | None, int | None]:
        if self.page.inner:
            return None, None, None
        return self.page.show_value(int(m[1])), m.start(0), m.end(0)


class _References(_OfPage, Treeprocessor):
    """The tree processor that reports undefined links and footnotes, which Markdown leaves as plain text."""

    def run(self, root: Element) -> None:
        for element in root.iter():
            for text in (element.text, element.tail):
                if text and not isinstance(text, AtomicString):
                    for reference in _UNDEFINED.findall(text):
                        self.page.miss(reference)


class _LastTree(_OfPage, Treeprocessor):
    """The last tree processor: it marks the page as complete, records its links, and adds the check marks.

    Before that, other extensions run the postprocessors on parts of the page.
    """

    def run(self, root: Element) -> None:
        self.page.complete = True
        self.page.note_links(element.get("href", "") for element in root.iter("a"))
        for paragraph in root.iter("p"):
            # markdown-exec puts a line break next to output that holds headings, which would keep the `<p>` around it.
            if not len(paragraph) and HTML_PLACEHOLDER_RE.fullmatch((paragraph.text or "").strip()):
                paragraph.text = (paragraph.text or "").strip()
        self.page.place_marks(root)


class _Finish(_OfPage, Postprocessor):
    """The postprocessor that ends the page and reports its failures, such as a piece that was silently dropped."""

    def run(self, text: str) -> str:
        if self.page.complete and not self.page.inner:
            self.page.complete = False
            return self.page.finish(text)
        return text


def makeExtension(**options: object) -> LivePages:  # noqa: N802 - the name that Python-Markdown calls
    """Return the extension, as Python-Markdown asks for it."""
    return LivePages(**options)
