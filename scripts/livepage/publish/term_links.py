"""Links from terms to their glossary entries, from the first use of a word on a page or of code in a paragraph.

The sentence that a link shows on hover comes from one file for all pages, which `terms.js` fetches once. Only prose
that Markdown itself writes is linked: paragraphs and lists. Elements with a class of their own stay unchanged.
"""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING

from livepage.read import project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from livepage.read import Term

FILE = "assets/terms.json"
"""The site's file with the sentences of the terms, by the address of each entry."""

_OPAQUE = re.compile(
    r"<(?P<tag>pre|svg|table|figure|h[1-6]|summary|script|style|template|button|label|select)\b.*?</(?P=tag)>",
    re.DOTALL,
)
_TAG = re.compile(r"""(<(?:[^>"']|"[^"]*"|'[^']*')*>)""")
_NAME = re.compile(r"</?([a-z][a-z0-9]*)")
_CLASS = re.compile(r'\sclass="([^"]*)"')
_HREF = re.compile(r'\shref="([^"]*)"')
_WORD = re.compile(r"(?<![\w&#.-])[A-Za-z][\w-]*")
_FIRST = re.compile(r"[^\w-]")
# A word that can also be a verb is a noun after one of these words.
_BEFORE_NOUN = re.compile(
    r"\b(?:an?|the|each|every|this|that|these|those|its|their|one|no|which|what|another|same|of|by|between|with|more)\s+$",
    re.IGNORECASE,
)
_BEGIN_PROSE = {"p", "li", "dd"}
_FOLLOWED = {*_BEGIN_PROSE, "ul", "ol", "dl", "div", "a", "span", "section", "aside", "nav", "details", "blockquote"}
# The classes of the elements that Markdown writes around prose, and of a sentence that the theme highlights.
_OPEN = {"admonition", "tabbed-set", "tabbed-content", "tabbed-block", "answer", "footnote"}

_CODE, _VALUE = "<code>", '<span class="value">'

# A paragraph with more code names than this is a list of names, which links would clutter.
_MOST_CODES = 8


def are_stale(terms: Iterable[Term]) -> bool:
    """Return whether the adapter's current terms would give other links than these; definitions do not matter."""
    return _strip(terms) != _strip(project.adapter.list_terms())


def link(content: str, terms: Iterable[Term], find: Callable[[str], str]) -> str:
    """Return a page's HTML with its terms as links.

    Args:
        content: The HTML.
        terms: The terms of the page.
        find: A function that returns a page's address relative to this one, or an empty string for this page and for
            missing pages.
    """
    linked = list(terms)
    addresses = {name: find(name) for name in {term.page for term in linked}}
    linked = [term for term in linked if addresses[term.page]]
    return _Linker(linked, addresses, content).link(content) if linked else content


def publish_terms(folder: Path, find: Callable[[str], str]) -> None:
    """Write the sentences of the terms into the file `FILE` of a built site.

    Args:
        folder: The site's folder.
        find: A function that returns a page's address relative to the site's root, or an empty string if it is missing.
    """
    says = {
        f"{find(term.page)}#{term.anchor}": [term.name, term.says]
        for term in project.adapter.list_terms()
        if find(term.page)
    }
    if says:
        (folder / FILE).parent.mkdir(parents=True, exist_ok=True)
        (folder / FILE).write_text(json.dumps(says, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


def _strip(terms: Iterable[Term]) -> list[tuple[object, ...]]:
    return [(term.page, term.anchor, term.words, term.code, term.is_verb, term.is_rare) for term in terms]


class _Linker:
    """The pass over one page that inserts the links."""

    def __init__(self, terms: Iterable[Term], addresses: dict[str, str], content: str) -> None:
        self.addresses = addresses
        self.codes = {term.code: term for term in terms if term.code}
        self.words: dict[str, list[tuple[str, Term]]] = {}
        # A term that the author has already linked on the page needs no second link.
        linked = set(_HREF.findall(content))
        for term in terms:
            if self._address(term) not in linked:
                for word in term.words:
                    for form in {word, word[:1].upper() + word[1:]}:
                        self.words.setdefault(_FIRST.split(form)[0], []).append((form, term))
        for forms in self.words.values():
            # Longer forms are tried first, so that "memory space" wins over "memory".
            forms.sort(key=lambda pair: -len(pair[0]))
        self.seen: set[Term] = set()
        self.coded: set[str] = set()
        self.lists = False
        # The open elements: the name, and whether the content is prose; None if the content must stay unchanged.
        self.stack: list[tuple[str, bool | None]] = [("", False)]

    def link(self, content: str) -> str:
        parts, last = [], 0
        for opaque in _OPAQUE.finditer(content):
            parts += [self._link_prose(content[last : opaque.start()]), opaque[0]]
            last = opaque.end()
        return "".join([*parts, self._link_prose(content[last:])])

    def _link_prose(self, segment: str) -> str:
        parts = _TAG.split(segment)
        for at, part in enumerate(parts):
            if at % 2:
                if self._follow(part):
                    self._begin_prose(parts, at)
            elif at and parts[at - 1] == _VALUE:
                if self.stack[-2][1]:
                    self._link_code(parts, at)
            elif self.stack[-1][1] and part:
                if at and parts[at - 1] == _CODE:
                    self._link_code(parts, at)
                else:
                    parts[at] = self._link_words(part)
        return "".join(parts)

    def _begin_prose(self, parts: list[str], at: int) -> None:
        """Start a paragraph: forget the code names linked in the last one, and note whether this one lists names."""
        end = parts.index("</p>", at) if parts[at] == "<p>" and "</p>" in parts[at:] else at
        self.coded.clear()
        self.lists = parts[at:end].count("<code>") > _MOST_CODES

    def _follow(self, tag: str) -> bool:
        """Track an opening or closing tag, and return whether prose begins."""
        element = _NAME.match(tag)
        if not element or element[1] not in _FOLLOWED:
            return False
        name = element[1]
        if tag.startswith("</"):
            if any(other == name for other, _ in self.stack):
                while self.stack.pop()[0] != name:
                    pass
            return False
        classes = _CLASS.search(tag)
        own = set(classes[1].split()) if classes and name != "details" else set()
        is_left = self.stack[-1][1] is None or name in {"a", "blockquote"} or (own and not own & _OPEN)
        self.stack.append((name, None if is_left else self.stack[-1][1] or name in _BEGIN_PROSE))
        return name in _BEGIN_PROSE

    def _link_code(self, parts: list[str], at: int) -> None:
        term, begin = self.codes.get(parts[at]), parts[at - 1]
        end = "</code>" if begin == _CODE else "</span>"
        if not term or self.lists or parts[at + 1 : at + 2] != [end] or not (begin == _CODE or term.is_rare):
            return
        if term.code not in self.coded and term not in self.seen:
            self.coded.add(term.code)
            if term.is_rare:
                self.seen.add(term)
            parts[at - 1 : at + 2] = [f"{self._begin(term)}{begin}", parts[at], f"{end}</a>"]

    def _link_words(self, text: str) -> str:
        parts, last = [], 0
        for word in _WORD.finditer(text):
            at = word.start()
            if at < last:
                continue
            for form, term in self.words.get(word[0], ()):
                end = at + len(form)
                if text.startswith(form, at) and not re.match(r"[\w-]", text[end : end + 1]):
                    if term not in self.seen and not (term.is_verb and not _BEFORE_NOUN.search(text[:at])):
                        self.seen.add(term)
                        parts += [text[last:at], self._begin(term), form, "</a>"]
                        last = end
                    break
        return "".join([*parts, text[last:]])

    def _begin(self, term: Term) -> str:
        return f'<a class="term" href="{html.escape(self._address(term))}">'

    def _address(self, term: Term) -> str:
        return f"{self.addresses[term.page]}#{term.anchor}"
