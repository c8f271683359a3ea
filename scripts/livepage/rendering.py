"""Turn what pieces came to into HTML, through markdown-exec and the highlighter of the page."""

from __future__ import annotations

import html
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from markdown_exec import IdPrependingTreeprocessor, MarkdownConverter, base_format
from markdown_exec import validator as read_options
from pymdownx.highlight import Highlight

if TYPE_CHECKING:
    from collections.abc import Iterator
    from xml.etree.ElementTree import Element

    from markdown import Markdown

    from livepage.blocks import Piece
    from livepage.session import Outcome

_pieces: list[Piece] = []
_highlighted: dict[tuple[object, ...], str] = {}
_MOST_HIGHLIGHTED = 4000


def show_block(md: Markdown, piece: Piece, outcome: Outcome, index: int) -> str:
    """Return the HTML of an executed fence: its output, and its source where the fence asks for it."""
    options: dict[str, Any] = {}
    read_options("python", dict(piece.options), options, {}, md)
    if options["id_prefix"] is None and not options["id"]:
        options["id_prefix"] = f"block-{index + 1}-"
    note = ""
    if outcome.gap:
        note = f'<p class="gap" title="{html.escape(outcome.gap)}">Not run here: {html.escape(outcome.gap)}</p>'
    elif outcome.failure:
        note = '<p class="failed">This part did not run in this build.</p>'
    if options["html"] or not outcome.text:
        shown = str(
            base_format(language="python", run=lambda *_, **__: outcome.text, code=piece.code, md=md, **options)
        )
        return shown + note
    return (
        str(base_format(language="python", run=lambda *_, **__: outcome.text, code=piece.code, md=md, **options)) + note
    )


def show_check(md: Markdown, piece: Piece, outcome: Outcome) -> str:
    """Return the HTML of a check: one folded line that opens to its source."""
    claim = html.escape(piece.options["check"])
    summary = f"Checked in this build: {claim}"
    kind = "check"
    if outcome.gap:
        summary, kind = f"{claim} (not run here: {html.escape(outcome.gap)})", "check gap"
    elif outcome.failure:
        summary, kind = f"{claim} (not shown)", "check failed"
    code = MarkdownConverter(md, update_toc=False).convert(f"````````python\n{piece.code}\n````````")
    return f'<details class="{kind}"><summary>{summary}</summary>{code}</details>'


@contextmanager
def block(_md: Markdown, piece: Piece) -> Iterator[None]:
    """Say whose output is being rendered meanwhile."""
    _pieces.append(piece)
    try:
        yield
    finally:
        _pieces.pop()


def current_piece() -> Piece | None:
    """Return the block whose output is being rendered, if any."""
    return _pieces[-1] if _pieces else None


def outer_page(md: Markdown) -> Any:
    """Return the page that a block's output is rendered for."""
    return getattr(getattr(md, "_original_md", None), "livepage", None)


def adopt(md: Markdown) -> None:
    """Let the output of a block share what MkDocs adds to the page: links checked and rewritten, anchors known.

    Ids in the output carry the block's prefix; a link to an id of the page itself must not.
    """
    outer: Markdown = md._original_md  # type: ignore[attr-defined]  # noqa: SLF001 - markdown-exec's only way back
    prefixer = md.treeprocessors[IdPrependingTreeprocessor.name]
    md.treeprocessors.register(_OwnIds(md, prefixer.id_prefix), IdPrependingTreeprocessor.name, 4)  # type: ignore[attr-defined]
    for name, priority in (("mkdocs_extract_anchors", 2), ("relpath", 0)):
        if name in outer.treeprocessors:
            md.treeprocessors.register(outer.treeprocessors[name], name, priority)


class _OwnIds(IdPrependingTreeprocessor):
    """Prefixes the ids of a block's output, and the links to them, but not links to ids elsewhere on the page."""

    def run(self, root: Element) -> None:
        own = {f"#{element.get('id')}" for element in root.iter() if element.get("id")}
        links = [(element, element.get("href", "")) for element in root.iter("a")]
        super().run(root)
        for element, href in links:
            if href.startswith("#") and href not in own:
                element.set("href", href)


class _Remembering(Highlight):  # type: ignore[misc]  # pymdownx has no type hints
    """The highlighter of pymdownx, which highlights the same code with the same options only once."""

    def highlight(self, src: str, language: str, *arguments: Any, **options: Any) -> Any:
        if options.get("inline") or self.title_mode != "text":
            return super().highlight(src, language, *arguments, **options)
        varying = {**options, "code_block_count": 0} if not (self.line_spans or self.line_anchors) else options
        settings = {key: value for key, value in vars(self).items() if key != "md"}
        key = (src, language, repr(arguments), repr(varying), repr(settings))
        if key not in _highlighted:
            if len(_highlighted) >= _MOST_HIGHLIGHTED:
                _highlighted.clear()
            _highlighted[key] = super().highlight(src, language, *arguments, **options)
        return _highlighted[key]


def highlighter() -> type[Highlight]:
    """Return the highlighter class for `pymdownx.superfences`."""
    return _Remembering
