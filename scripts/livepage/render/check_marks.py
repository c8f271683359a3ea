"""Put a mark at the end of the sentence that a check backs, which opens to the claim and its code."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, tostring

from markdown.util import HTML_PLACEHOLDER_RE

from livepage.read import SAYS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown import Markdown

_CLAIM = re.compile(r'<section class="check" id="(?P<id>[^"]+)" popover><p class="claim">(?P<claim>.*?)</p>', re.DOTALL)
# Output that ends with the caption of a picture which stands open.
_CAPTION = re.compile(r"</figcaption>(?=\s*</figure>\s*(?:</div>\s*)*\Z)")
_HIDES = re.compile(r'<details\b|class="tabbed-set')
_BLOCKS = {"p", "ul", "ol", "dl", "pre", "div", "table", "details", "section", "figure", "blockquote"}
_ENDS = {"h1", "h2", "h3", "h4", "h5", "h6", "hr"}


def show_check(name: str, claim: str, code: str) -> str:
    """Return what a mark opens, which a browser hides until then.

    Args:
        name: Its id.
        claim: What is claimed, plain text.
        code: The listing of its assertions, HTML.
    """
    close = f'<button type="button" class="close" popovertarget="{name}" popovertargetaction="hide" aria-label="Close">'
    return (
        f'<section class="check" id="{name}" popover><p class="claim">{SAYS}{html.escape(claim)}</p>'
        f"{code}{close}&#215;</button></section>"
    )


def place_marks(md: Markdown, root: Element) -> None:
    """Give each check of a page a mark, at the end of the block before it.

    Behind a list that is its last item, behind a picture its caption, and behind a table or other output the paragraph
    before that. Where nothing is said before it in its section, the mark stands on a line of its own.
    """
    _open_folds(root)
    for parent in [*root.iter()]:
        for child in [*parent]:
            if found := _CLAIM.match(_read(md, child) or ""):
                _place(md, parent, child, found["id"], html.unescape(found["claim"]).removeprefix(SAYS))
            elif child.tag == "section" and child.get("class") == "check":
                _place(md, parent, child, child.get("id", ""), "".join(child[0].itertext()).removeprefix(SAYS))


def _open_folds(root: Element) -> None:
    """Make of the folds that stand for the checks of a notebook what those of a page are."""
    folds = [fold for fold in root.iter("details") if fold.get("class") == "check"]
    for number, fold in enumerate(folds):
        name = f"checked-cell-{number + 1}"
        fold.tag = "section"
        fold.attrib = {"class": "check", "id": name, "popover": "auto"}
        fold[0].tag = "p"
        fold[0].set("class", "claim")
        attributes = {"type": "button", "class": "close", "popovertarget": name, "popovertargetaction": "hide"}
        SubElement(fold, "button", {**attributes, "aria-label": "Close"}).text = "\u00d7"


def _place(md: Markdown, parent: Element, check: Element, name: str, claim: str) -> None:
    mark = Element(
        "button", {"type": "button", "class": "checked", "popovertarget": name, "aria-label": f"{SAYS}{claim}"}
    )
    mark.text = "\u2713"
    for before in _list_before(parent, check):
        if before.tag in _ENDS:
            break
        text = _read(md, before)
        if text is not None and not _HIDES.search(text) and (caption := _CAPTION.search(text)):
            at, shown = caption.start(), tostring(mark, encoding="unicode", method="html")
            md.htmlStash.rawHtmlBlocks[_find_kept(before) or 0] = f"{text[:at]}{shown}{text[at:]}"
            return
        if text is None and (host := _find_host(before)) is not None:
            _append(host, mark)
            return
    if parent.tag == "li" and (parent.text or "").strip():
        mark.tail, parent.text = "\n", f"{parent.text.rstrip()} " if parent.text else ""
        parent.insert(0, mark)
        return
    line = Element("p", {"class": "checks"})
    line.append(mark)
    parent.insert([*parent].index(check), line)


def _list_before(parent: Element, check: Element) -> Iterator[Element]:
    """Yield the elements before a check, the nearest first."""
    yield from reversed([*parent][: [*parent].index(check)])


def _read(md: Markdown, element: Element) -> str | None:
    """Return the HTML that an element stands for, or None where it is what it is."""
    at = _find_kept(element)
    return None if at is None else str(md.htmlStash.rawHtmlBlocks[at])


def _find_kept(element: Element) -> int | None:
    """Return where Markdown keeps the HTML that an element stands for."""
    found = HTML_PLACEHOLDER_RE.fullmatch((element.text or "").strip()) if not len(element) else None
    return int(found[1]) if found else None


def _find_host(element: Element) -> Element | None:
    """Return what ends with the last sentence of an element: itself, or an item in it."""
    if element.tag == "p":
        return element
    if element.tag in {"ul", "ol", "dl", "blockquote"} and len(element):
        return _find_host(element[-1])
    if element.tag in {"li", "dd"}:
        last = element[-1] if len(element) and element[-1].tag in _BLOCKS else None
        return element if last is None else _find_host(last)
    return None


def _append(host: Element, mark: Element) -> None:
    """Put a mark behind the last word of a text, so that no line begins with it."""
    last = host[-1] if len(host) else None
    if last is not None and last.get("class") == "end" and not (last.tail or "").strip():
        last.append(mark)
        return
    text = ((host.text if last is None else last.tail) or "").rstrip()
    head, space, word = text.rpartition(" ")
    if last is None:
        host.text = head + space
    else:
        last.tail = head + space
    end = SubElement(host, "span", {"class": "end"})
    end.text = word
    end.append(mark)
