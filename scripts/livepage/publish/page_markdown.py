"""The Markdown version of each page for readers of plain text, with the output of its blocks and with working links.

Markdown extensions are translated for any Markdown reader: a fold or tab becomes its title and its content, and an
anchor becomes an element of its own. Figures are only shown on the page itself; here their captions replace them.
"""

from __future__ import annotations

import html
import posixpath
import re
from typing import TYPE_CHECKING

from markupsafe import Markup

from livepage.read import FENCE_MARK, VALUE_MARK, Kind, project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from livepage.read import Outcome, Piece, Source

_FENCE = re.compile(r"(?P<lead>[ \t>]*)(?P<marks>`{3,}|~{3,})(?P<header>[^`\n]*)$")
_MARK = re.compile(rf'\S+ (?:.* )?{FENCE_MARK}="(\d+)"$')
_VALUE = re.compile(rf"`{VALUE_MARK}(\d+)`")
_BOX = re.compile(r'(?:!!!|\?\?\?\+?)\s+(?P<kind>[\w -]*?)\s*(?:"(?P<title>.*)")?\s*$|===[!+]*\s+"(?P<tab>.*)"\s*$')
_HEADING = re.compile(r"(?P<title>#{1,6} .*?)\s*\{:?[^}]*#(?P<id>[\w:.-]+)[^}]*\}\s*$")
_ATTRIBUTES = re.compile(r"\s*\{:?\s*(?=[.#])[^{}#]*(?:#(?P<id>[\w:.-]+))?[^{}]*\}\s*$")
_ITEM = re.compile(r"\s*(?:[-+*]|\d+[.)])\s+|\s*")
_HASH = re.compile(r'(?<=href=")#[^"]*|(?<=\]\()#[^()\s]*')
_LINK = re.compile(r"(?<=\]\()(?P<path>[^()\s#?]+)(?P<rest>#[^()\s]*)?(?=\)|\s+\")|(?<=\]: )(?P<defined>[^\s#?]+)")
_NOT_HERE = re.compile(r"<(svg|script|style|template|button)\b.*?</\1>", re.DOTALL)
_FIGURE = re.compile(r"<figure\b[^>]*>.*?</figure>", re.DOTALL)
_CAPTION = re.compile(r"<figcaption\b[^>]*>(.*?)</figcaption>", re.DOTALL)


def find_address(name: str) -> str:
    """Return the location of a page's Markdown in the site, such as `fusion/index.md` for `fusion.md`."""
    plain = re.sub(r"\.(?:md|py)$", "", name)
    return f"{plain}.md" if posixpath.basename(plain) == "index" else f"{plain}/index.md"


def to_markdown(name: str, source: Source, outcomes: Sequence[Outcome], pages: Iterable[str] = ()) -> str:
    """Return a page's Markdown with the outcomes of its pieces.

    Args:
        name: The page's file, relative to the folder of the pages.
        source: The page as read.
        outcomes: The outcomes of the page's pieces.
        pages: The files of all pages; links to them are rewritten to their addresses.
    """
    names, here = frozenset(pages), posixpath.dirname(find_address(name))

    def link(target: str) -> str:
        """Return the target of one of the page's links, relative to the page's Markdown version."""
        if re.match(r"[a-z][a-z+.-]*:|/", target):
            return target
        path = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
        return posixpath.relpath(find_address(path) if path in names else path, here or ".")

    lines = _plain(_fill(source, outcomes), link)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def _fill(source: Source, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Yield the lines of a page with each placeholder replaced by the outcome of its piece."""
    lines = iter(source.lines)
    for line in lines:
        fence = _FENCE.match(line)
        mark = _MARK.match(fence["header"]) if fence else None
        if fence and mark:
            # The placeholder of a piece is an empty fence, so its closing line is skipped.
            next(lines)
            index = int(mark[1])
            text = _show(source.pieces[index], outcomes[index])
            yield from (fence["lead"] + row if row else row for row in text.split("\n"))
        else:
            yield _VALUE.sub(lambda match: _say(outcomes[int(match[1])]), line)


def _say(outcome: Outcome) -> str:
    return f"(needs {outcome.target})" if outcome.gap else outcome.text


def _show(piece: Piece, outcome: Outcome) -> str:
    """Return the Markdown for the outcome of an executed fence."""
    if piece.kind is Kind.CHECK:
        verdict = "Not run here" if outcome.gap else "Checked in this build"
        code = piece.code if outcome.gap or not outcome.text else f"{piece.code}\n\n{outcome.text}"
        return f"{verdict}: {piece.options['check']}\n\n{_enclose(code, 'python')}"
    parts = []
    place = piece.options.get("source", "")
    if place:
        parts.append(_enclose(piece.listing or piece.code, piece.language))
    if outcome.text.strip():
        language = piece.options.get("result")
        parts.append(_enclose(outcome.text.rstrip("\n"), language) if language else _describe(outcome.text.strip("\n")))
    if outcome.gap:
        parts.append(f"Not run here: {outcome.gap}")
    return "\n\n".join(reversed(parts) if place == "below" else parts)


def _enclose(text: str, language: str) -> str:
    """Return a text in a fence with more backticks than the text contains, so that the text cannot close the fence."""
    marks = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`{3,}", text)), 3)
    return f"{marks}{language}\n{text}\n{marks}"


def _describe(text: str) -> str:
    """Return the output of a block without graphics.

    A figure becomes its caption, and another element on the page the text that the project's adapter has for it.
    """
    text = _FIGURE.sub(_read_caption, project.adapter.tell(text))
    for name, instead in project.adapter.replaced.items():
        text = re.sub(rf'<(?P<tag>\w+) class="{name}\b.*?</(?P=tag)>', instead, text, flags=re.DOTALL)
    return _NOT_HERE.sub("", text)


def _read_caption(match: re.Match[str]) -> str:
    caption = _CAPTION.search(match[0])
    words = Markup(caption[1]).striptags() if caption else ""  # noqa: S704 - its tags are removed at once
    # A table in a figure is text, so it is copied and not only described.
    tables = "\n".join(re.findall(r"<table\b.*?</table>", match[0], re.DOTALL))
    return f"*(On the page: a picture. {words})*\n{tables}" if words else tables or "*(On the page: a picture.)*"


def _plain(lines: Iterable[str], link: Callable[[str], str]) -> list[str]:
    """Return lines in plain Markdown: folds, tabs and notes are unfolded and links rewritten; fences stay unchanged."""
    out: list[str] = []
    waiting = list(lines)
    at = 0
    while at < len(waiting):
        line = waiting[at]
        at += 1
        if fence := _FENCE.match(line):
            end = _find_end(waiting, at, fence)
            out += [re.sub(r"(\S+) .*$", r"\1", line, count=1), *waiting[at:end]]
            at = end
        elif box := _BOX.match(line):
            end = at
            while end < len(waiting) and (waiting[end].startswith("    ") or not waiting[end].strip()):
                end += 1
            out += ["", f"**{_name(box)}**", "", *_plain((row[4:] for row in waiting[at:end]), link), ""]
            at = end
        elif heading := _HEADING.match(line):
            title = _LINK.sub(lambda match: _lead(match, link), heading["title"])
            out += [f'<a id="{heading["id"]}"></a>', "", title]
        else:
            # An anchor that a script of the page reads does not exist in the Markdown, so its link leads to the page.
            line = _HASH.sub(lambda match: _lead_to_page(match[0]), _move_id(line))
            out.append(_LINK.sub(lambda match: _lead(match, link), line))
    return out


def _move_id(line: str) -> str:
    """Return a line with an anchor at its start in place of the attributes at its end."""
    attributes = _ATTRIBUTES.search(line)
    if not attributes:
        return line
    line = line[: attributes.start()]
    start = _ITEM.match(line)
    at = start.end() if start else 0
    return f'{line[:at]}<a id="{attributes["id"]}"></a>{line[at:]}' if attributes["id"] else line


def _find_end(lines: list[str], at: int, fence: re.Match[str]) -> int:
    """Return the index of the line after the end of a fence."""
    while at < len(lines) and lines[at].strip(" \t>") != fence["marks"]:
        at += 1
    return min(at + 1, len(lines))


def _name(box: re.Match[str]) -> str:
    return box["tab"] or box["title"] or box["kind"].partition(" ")[0].capitalize()


def _lead_to_page(link: str) -> str:
    return f"index.html{link}" if project.adapter.find_anchor(html.unescape(link)) else link


def _lead(match: re.Match[str], link: Callable[[str], str]) -> str:
    return link(match["path"] or match["defined"]) + (match["rest"] or "")
