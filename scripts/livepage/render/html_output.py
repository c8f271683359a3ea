"""The conversion of outcomes into HTML, through markdown-exec and the page's highlighter."""

from __future__ import annotations

import html
import re
from functools import partial
from typing import TYPE_CHECKING, Any

from markdown_exec import IdPrependingTreeprocessor, base_format, formatters
from markdown_exec._internal import rendering
from markupsafe import Markup
from pymdownx.highlight import Highlight

from livepage.read import FENCE_MARK, WAITS
from livepage.render import check_marks

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from markdown import Markdown

    from livepage.read import Outcome, Piece

# A browser may break a line after each hyphen of an option, but a command must break only at spaces.
_OPTION = re.compile(r"(?<=\s)--?\w[\w-]*(?=[^<>]*(?:<|$))")
_MARKED_OPTION = r'<span class="option">\g<0></span>'
# The longest option of inline code that is kept on one line: a longer one could be wider than a phone's screen.
_LONGEST_OPTION = 32
# Listings are marked when they are highlighted. The text of the other elements is no prose.
_INLINE_CODE = re.compile(
    r"<(?P<other>pre|script|style|svg|template)\b.*?</(?P=other)>|(?P<begin><code\b[^>]*>)(?P<text>[^<]*)</code>",
    re.DOTALL,
)
_INLINE_OPTION = re.compile(rf"(?<![\w./-])--?[A-Za-z][\w-]{{0,{_LONGEST_OPTION - 3}}}(?![\w-])")
# White space, punctuation and plain names have no color of their own, but can be two thirds of the elements.
_PLAIN = re.compile(r'<span class="(?:w|p|n|x)">([^<]*)</span>')

_FORMATTERS = dict(formatters)
"""The original formatters of markdown-exec."""


def register() -> None:
    """Replace markdown-exec's formatters, so that live pages show their outcomes; other pages are unaffected."""
    for language in _FORMATTERS:
        formatters[language] = partial(_format, language)  # type: ignore[assignment]  # called as any function


def _format(language: str, *, code: str, md: Markdown, **options: Any) -> str:  # noqa: ANN401 - as markdown-exec reads them
    page = getattr(md, "livepage", None)
    if page is None or language == "tree":
        plain: str = _FORMATTERS[language](code=code, md=md, **options)  # type: ignore[operator]  # each is a function
        return plain
    if language == "pyodide":
        output = str(_FORMATTERS[language](code=code, md=md, **options))  # type: ignore[operator]  # each is a function
        # markdown-exec numbers the editors of all pages in one sequence, so the ids would depend on the order of pages.
        return re.sub(r"(?<=[\"'])exec-\d+--", f"{page.name_editor()}-", output)
    number = options["extra"].pop(FENCE_MARK, None)
    if number is None or page.inner:
        page.complain("a block printed a fence that would run: only the page's own fences run")
        return ""
    block: str = page.show_fence(int(number), options)
    return block


def show_block(md: Markdown, piece: Piece, outcome: Outcome, index: int, options: dict[str, Any]) -> str:
    """Return the HTML of an executed fence: its output, and its source if the fence requests it."""
    if options["id_prefix"] is None and not options["id"]:
        options["id_prefix"] = f"block-{index + 1}-"
    options["extra"].pop("inputs", None)
    options |= {"workdir": None, "width": 0}  # it has run
    if outcome.waits:
        code = _show_source(md, piece)
        listing = code if "source" in piece.options else f"<details><summary>What runs here</summary>{code}</details>"
        return Markup(listing + WAITS)  # noqa: S704 - the highlighter escapes it
    output = base_format(
        language=piece.language,
        run=lambda *_, **__: outcome.text,
        code=piece.code,
        md=md,
        transform_source=lambda code: (code, piece.listing or code),
        **options,
    )
    note = ""
    if outcome.gap:
        note = f'<p class="gap">Not run here: {html.escape(outcome.gap)}</p>'
    elif outcome.failure:
        note = '<p class="failed">This part did not run in this build.</p>'
    return output + type(output)(note) if note else output


def show_check(md: Markdown, piece: Piece, outcome: Outcome, index: int) -> str:
    """Return the HTML of a check: its popover, or a folded line that says that the check did not run."""
    claim, code = html.escape(piece.options["check"]), _show_source(md, piece)
    if outcome.gap:
        kind, summary = "gap", f"{claim} (not run here: {html.escape(outcome.gap)})"
    elif outcome.waits:
        kind, summary = "waiting", f"{claim} (still runs)"
    elif outcome.failure:
        kind, summary = "failed", f"{claim} (not shown)"
    else:
        functions = _show_code(md, outcome.text, piece.language) if outcome.text else ""
        return check_marks.show_check(f"checked-{index + 1}", piece.options["check"], code + functions)
    return f'<details class="check {kind}"><summary>{summary}</summary>{code}</details>'


def _show_source(md: Markdown, piece: Piece) -> str:
    return _show_code(md, piece.listing or piece.code, piece.language)


def _show_code(md: Markdown, code: str, language: str) -> str:
    # This is the highlighter that superfences uses for any fence; it needs no Markdown converter for each listing.
    show = md.preprocessors["fenced_code_block"].highlight  # type: ignore[attr-defined]  # pymdownx ships no types
    listing: str = show(code, language, options={}, md=md, classes=[], id_value="", attrs={})
    return listing


def keep_options(html: str) -> str:
    """Return a page's HTML with the options in its inline code marked, so that no line ends within one."""

    def mark(match: re.Match[str]) -> str:
        if match["other"]:
            return match[0]
        return f"{match['begin']}{_INLINE_OPTION.sub(_MARKED_OPTION, match['text'])}</code>"

    return _INLINE_CODE.sub(mark, html)


def outer(md: Markdown) -> Markdown | None:
    """Return the converter of the page if `md` converts the output of one of its blocks, or None."""
    return getattr(md, "_original_md", None)


def adopt(md: Markdown) -> None:
    """Give the output of a block the page's MkDocs processors, which check and rewrite links and collect anchors."""
    page = outer(md)
    if page is None:
        return
    for name, priority in (("mkdocs_extract_anchors", 2), ("relpath", 0)):
        if name in page.treeprocessors:
            md.treeprocessors.register(page.treeprocessors[name], name, priority)
    prefixer = md.treeprocessors[IdPrependingTreeprocessor.name]
    prefix = getattr(prefixer, "id_prefix", "")
    md.treeprocessors.register(_OwnIds(md, prefix), IdPrependingTreeprocessor.name, 4)


def end_page() -> None:
    """Clear markdown-exec's cache, which would keep every page in memory."""
    rendering._register_headings_processors.cache_clear()  # noqa: SLF001 - there is no other way


class _OwnIds(IdPrependingTreeprocessor):
    """The processor that prefixes the ids in a block's output and the links to them, but no links to other ids."""

    def run(self, root: Element) -> None:
        own = {f"#{element.get('id')}" for element in root.iter() if element.get("id")}
        links = [(element, element.get("href", "")) for element in root.iter("a")]
        super().run(root)
        for element, href in links:
            if href.startswith("#") and href not in own:
                element.set("href", href)


class Lean(Highlight):  # type: ignore[misc]  # pymdownx ships no types
    """The highlighter of `pymdownx.superfences` without the `<span>` elements that do not change the text's color."""

    def highlight(self, src: str, language: str, *arguments: object, **options: object) -> object:
        """Return a listing as HTML."""
        listing = super().highlight(src, language, *arguments, **options)
        if options.get("inline") or self.title_mode != "text":
            return listing
        plain = _PLAIN.sub(r"\1", listing)
        return _OPTION.sub(_MARKED_OPTION, plain) if language == "sh" else plain
