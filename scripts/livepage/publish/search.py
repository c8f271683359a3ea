"""The content of the search index: prose, terms, entries from blocks, and the names of functions from listings.

Nobody searches for line numbers, and the listings that blocks print would fill most of the index. A term with an id
and an entry with a title rank before the pages that use them. Each section keeps the sentences that the search shows:
the first one, and those with enough new words. Every other word is stored once, in an element that
`assets/search.js` hides.
"""

from __future__ import annotations

import html
import re
import tomllib
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from livepage.read import SAYS, project

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from livepage.read import SearchEntry

# The elements that are left out of the index: listings, drawings, version stamps and permalinks.
_DROPPED = re.compile(
    r"<pre\b.*?</pre>|<svg\b.*?</svg>|<(?:script|style|template)\b.*?</(?:script|style|template)>"
    r'|<a class="headerlink".*?</a>'
    r'|<(?:p|small|span) class="(?:stamp|made|reading-time|filename)">.*?</(?:p|small|span)>'
    r'|<div class="tabbed-labels">.*?</div>|<button\b.*?</button>|<p data-search-exclude\b.*?</p>',
    re.DOTALL,
)
# The elements that repeat the same names many times, so each of their words is indexed once a page.
_REPEATING = re.compile(r"<table\b.*?</table>|<figure\b.*?</figure>|<ol class=.*?</ol>", re.DOTALL)
_CAPTION = re.compile(r"<figcaption\b.*?</figcaption>", re.DOTALL)
_PYTHON = re.compile(r'<div class="language-python highlight">.*?</pre>', re.DOTALL)
_HEADING = re.compile(r"<h(?P<level>[1-6])\b[^>]*>.*?</h(?P=level)>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_INLINE = re.compile(r"</?(?:a|abbr|b|code|em|i|small|span|strong|sub|sup)\b[^>]*>")
_WORD = re.compile(r"[A-Za-z][\w.-]+\w")
_NUMBERED = re.compile(r"(?:\.\d+)+$")
_ENDING = re.compile(r"(?<=\w{3})(?:e?[sd]|ing|e)$")
"""The endings that `assets/search.js` also ignores, so that the index needs only one form of each word on a page."""
_EVERYWHERE = frozenset(
    re.findall(
        r"\w+",
        "about after all also and any are because been but can does each for from had has have how into its more most "
        "no not one only other out over same such than that the their them then there these they this those through "
        "too two was were what when where which while who why with would you your",
    )
)
_WORDS = re.compile(r"<sub>(.*?)</sub>", re.DOTALL)
_NEW = 7
"""The smallest number of words that are new on the page with which the index stores a sentence whole."""
_SENTENCE = re.compile(r"(?<=[.:?!])\s+(?=[^a-z\s])")
_BLOCK = re.compile(r"</(?:p|li|dd|dt|summary|td|th|tr|blockquote|figcaption)>")
_FIRST = 2
"""The number of sentences that the index stores of each section if a page is only indexed by its beginnings."""
_BREAK = "\N{PARAGRAPH SEPARATOR}"
_TERM = re.compile(r'<dt><strong id="(?P<id>[^"]+)">(?P<name>.*?)</strong></dt>\s*<dd>(?P<says>.*?)</dd>', re.DOTALL)


@lru_cache(maxsize=100)  # each rebuild indexes every page again
def to_index(content: str, entries: tuple[SearchEntry, ...] = (), *, whole: bool = True) -> str:
    """Return the HTML that the search plugin indexes for a page.

    Args:
        content: The page's HTML.
        entries: The texts that replace some of the page's elements.
        whole: Whether all words of a section are indexed; otherwise only its beginning, as on a page that always grows.
    """
    words_above = set[str]()
    # A `<wbr>` only allows a line break, but would split a name into two words.
    content = content.replace("<wbr>", "")
    function = re.compile(rf"\b(?:{'|'.join(project.adapter.functions) or '(?!)'})(?:\.[A-Za-z_]\w*)+")
    content = _PYTHON.sub(lambda match: _once(function.findall(_text(match[0])), words_above), content)
    content = _DROPPED.sub("", content)
    for name in project.adapter.replaced:
        content = re.sub(rf'<(?P<tag>\w+) class="{name}\b.*?</(?P=tag)>', "", content, flags=re.DOTALL)
    content = _put(entries, content)
    content = _TERM.sub(r'<h2 id="\g<id>">\g<name></h2><p>\g<says></p>', content)
    content = _REPEATING.sub(lambda match: _shorten(match[0], words_above), content)
    content = content.replace(f'<p class="claim">{SAYS}', "<p>")
    sections, last, words, roots = [], 0, set[str](), set[str]()
    for heading in _HEADING.finditer(content):
        sections += [_condense(content[last : heading.start()], words, roots, whole=whole), heading[0]]
        roots |= _list_roots(_text(heading[0]))
        last = heading.end()
    return "".join([*sections, _condense(content[last:], words, roots, whole=whole)])


def rank(
    index: Iterable[dict[str, Any]],
    url: str,
    entries: Iterable[SearchEntry],
    queries: Mapping[str, list[str]] = MappingProxyType({}),
) -> set[str]:
    """Rank a page's entries, and the sections that answer readers' questions, above other pages that mention them.

    Args:
        index: The search plugin's entries for the pages so far; changed in place.
        url: The address of the page in the site.
        entries: The entries of the page.
        queries: The search terms of readers, by the id of the section that answers them; an empty id means the page.

    Returns:
        The ids in `queries` that do not exist on the page.
    """
    boosts = {f"{url}#{entry.id}": entry.boost for entry in entries if entry.title and entry.boost != 1}
    words = {f"{url}#{section}" if section else url: words for section, words in queries.items()}
    present = set[str]()
    for indexed in index:
        if indexed["location"] in boosts:
            indexed["boost"] = boosts[indexed["location"]]
        if indexed["location"] in words:
            indexed["tags"] = words[indexed["location"]]
            present.add(indexed["location"])
    return {address.partition("#")[2] for address in words.keys() - present}


def read_asked(path: Path) -> dict[str, dict[str, list[str]]]:
    """Return readers' search terms by page and by the id of the section that answers them.

    Without the file the result is empty.
    """
    table = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    terms: dict[str, dict[str, list[str]]] = {}
    for place, words in table.items():
        page, _, section = place.partition("#")
        terms.setdefault(page, {})[section] = words
    return terms


def _put(entries: Iterable[SearchEntry], content: str) -> str:
    """Return a page's HTML with each entry in place of the element with its id."""
    entry_by_id = {entry.id: entry for entry in entries}
    if not entry_by_id:
        return content
    ids = "|".join(map(re.escape, entry_by_id))
    element = re.compile(rf'<(?P<tag>\w+)\b[^>]*\bid="(?P<id>{ids})"[^>]*>.*?</(?P=tag)>', re.DOTALL)
    return element.sub(lambda match: _show(entry_by_id[match["id"]]), content)


def _show(entry: SearchEntry) -> str:
    title = f'<h4 id="{entry.id}">{entry.title}</h4>' if entry.title else ""
    return f"{title}<p>{entry.text}</p>"


def _condense(section: str, page_words: set[str], page_roots: set[str], *, whole: bool) -> str:
    """Return the indexed text of a section: the sentences worth storing, then each remaining word once.

    Args:
        section: The section's HTML.
        page_words: The words of the page so far; those of the section are added.
        page_roots: The roots of the words in the page's indexed text so far; those of the section are added.
        whole: Whether the whole section counts; otherwise only its first sentences.
    """
    sentences: list[str] = []
    rest = [word for words in _WORDS.findall(section) for word in html.unescape(words).split()]
    section = _WORDS.sub("", section)
    for paragraph in _text(_BLOCK.sub(_BREAK, section)).split(_BREAK):
        for sentence in _SENTENCE.split(" ".join(paragraph.split())):
            # Words that occur in every text, such as "about", do not make a sentence new.
            new = {word.lower() for word in _list_words(sentence)} - page_words - _EVERYWHERE
            if sentence and (not sentences or len(new) >= _NEW):
                sentences.append(sentence)
                page_words |= new
            else:
                rest += [word for word in _list_words(sentence) if word.lower() in new]
    sentences, rest = (sentences, rest) if whole else (sentences[:_FIRST], [])
    page_words |= {word.lower() for word in rest}
    page_roots |= _list_roots(" ".join(sentences))
    remaining: dict[str, str] = {}
    for word in rest:
        if (root := _find_root(word)) not in page_roots:
            remaining.setdefault(root, word)
    page_roots |= remaining.keys()
    further = " ".join(remaining.values())
    return "".join(f"<p>{html.escape(sentence, quote=False)}</p>" for sentence in sentences) + (
        f"<sub>{html.escape(further, quote=False)}</sub>" if further else ""
    )


def _text(part: str) -> str:
    return html.unescape(_TAG.sub(" ", _INLINE.sub("", part)))


def _list_words(text: str) -> list[str]:
    """Return the words of a text, with instruction names reduced to the part before their numbers."""
    return [_NUMBERED.sub("", word) for word in _WORD.findall(text)]


def _list_roots(text: str) -> set[str]:
    return {_find_root(word) for word in _list_words(text)}


def _find_root(word: str) -> str:
    return _ENDING.sub("", word.lower())


def _once(words: list[str], words_above: set[str]) -> str:
    """Return those words that are new on the page, as one hidden element."""
    new = [word for word in dict.fromkeys(words) if word not in words_above]
    words_above.update(new)
    return f"<sub>{html.escape(' '.join(new))}</sub>" if new else ""


def _shorten(part: str, words_above: set[str]) -> str:
    """Return HTML with the caption of a table or figure and, hidden, the new words inside it."""
    caption = _CAPTION.search(part)
    words = _list_words(_TAG.sub(" ", _CAPTION.sub("", part)))
    return (f"<p>{_text(caption[0]).strip()}</p>" if caption else "") + _once(words, words_above)
