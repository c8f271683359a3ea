"""The check marks at the ends of sentences; a mark opens the claim and the code of the sentence's check."""

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
# Output that ends with the caption of a visible figure.
_CAPTION = re.compile(r"</figcaption>(?=\s*</figure>\s*(?:</div>\s*)*\Z)")
_HIDES = re.compile(r'<details\b|class="tabbed-set')
_BLOCKS = {"p", "ul", "ol", "dl", "pre", "div", "table", "details", "section", "figure", "blockquote"}
_ENDS = {"h1", "h2", "h3", "h4", "h5", "h6", "hr"}


def show_check(name: str, claim: str, code: str) -> str:
    """Return the popover that a check mark opens, as HTML.

    Args:
        name: The id of the popover.
        claim: The claim, as plain text.
        code: The listing of the assertions, as HTML.
    """
    close = f'<button type="button" class="close" popovertarget="{name}" popovertargetaction="hide" aria-label="Close">'
    return (
        f'<section class="check" id="{name}" popover><p class="claim">{SAYS}{html.escape(claim)}</p>'
        f"{code}{close}&#215;</button></section>"
    )


def place_marks(md: Markdown, root: Element) -> None:
    """Add a mark for each check of a page, at the end of the block before the check.

    After a list, the mark goes to the last item; after a figure, to its caption; and after a table or other output, to
    the paragraph above. If the section has no text before the check, the mark gets a line of its own.
    """
    _open_folds(root)
    for parent in [*root.iter()]:
        for child in [*parent]:
            if match := _CLAIM.match(_read(md, child) or ""):
                _place(md, parent, child, match["id"], html.unescape(match["claim"]).removeprefix(SAYS))
            elif child.tag == "section" and child.get("class") == "check":
                _place(md, parent, child, child.get("id", ""), "".join(child[0].itertext()).removeprefix(SAYS))


def _open_folds(root: Element) -> None:
    """Convert the folds that hold the checks of a notebook into popovers like those of other pages."""
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
            at, button = caption.start(), tostring(mark, encoding="unicode", method="html")
            md.htmlStash.rawHtmlBlocks[_find_kept(before) or 0] = f"{text[:at]}{button}{text[at:]}"
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
    """Return the stored HTML that an element is a placeholder for, or None if it is not a placeholder."""
    at = _find_kept(element)
    return None if at is None else str(md.htmlStash.rawHtmlBlocks[at])


def _find_kept(element: Element) -> int | None:
    """Return the index of the stored HTML that an element is a placeholder for, or None."""
    match = HTML_PLACEHOLDER_RE.fullmatch((element.text or "").strip()) if not len(element) else None
    return int(match[1]) if match else None


def _find_host(element: Element) -> Element | None:
    """Return the element that ends with the last sentence: the element itself, an item inside it, or None."""
    if element.tag == "p":
        return element
    if element.tag in {"ul", "ol", "dl", "blockquote"} and len(element):
        return _find_host(element[-1])
    if element.tag in {"li", "dd"}:
        last = element[-1] if len(element) and element[-1].tag in _BLOCKS else None
        return element if last is None else _find_host(last)
    return None


def _append(host: Element, mark: Element) -> None:
    """Put a mark after the last word of a text, so that no line begins with the mark."""
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
