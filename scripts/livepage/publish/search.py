"""What the search finds: prose and terms, what blocks hand over, and of listings only the names of functions.

Nobody searches for the number of a line, and what blocks print as listings would be most of the index.
A term with an id and an entry with a title are found by their name before every page that uses it. Of each section the
index has whole sentences, which the search shows: the first one, and those that say something new on the page; of the
rest it has each word once, in an element that `assets/search.js` does not show.
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

# What is neither read nor searched for: listings, drawings, what versions made them, marks.
_DROPPED = re.compile(
    r"<pre\b.*?</pre>|<svg\b.*?</svg>|<(?:script|style|template)\b.*?</(?:script|style|template)>"
    r'|<a class="headerlink".*?</a>'
    r'|<(?:p|small|span) class="(?:stamp|made|reading-time|filename)">.*?</(?:p|small|span)>'
    r'|<div class="tabbed-labels">.*?</div>|<button\b.*?</button>',
    re.DOTALL,
)
# What says the same names over and over: of these each word counts once a page.
_REPEATING = re.compile(r"<table\b.*?</table>|<figure\b.*?</figure>|<ol class=.*?</ol>", re.DOTALL)
_CAPTION = re.compile(r"<figcaption\b.*?</figcaption>", re.DOTALL)
_PYTHON = re.compile(r'<div class="language-python highlight">.*?</pre>', re.DOTALL)
_HEADING = re.compile(r"<h(?P<level>[1-6])\b[^>]*>.*?</h(?P=level)>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_INLINE = re.compile(r"</?(?:a|abbr|b|code|em|i|small|span|strong|sub|sup)\b[^>]*>")
_WORD = re.compile(r"[A-Za-z][\w.-]+\w")
_NUMBERED = re.compile(r"(?:\.\d+)+$")
_EVERYWHERE = frozenset(
    re.findall(
        r"\w+",
        "about after all also and any are because been but can does each for from had has have how into its more most "
        "no not one only other out over same such than that the their them then there these they this those through "
        "too two was were what when where which while who why with would you your",
    )
)
_WORDS = re.compile(r"<sub>(.*?)</sub>", re.DOTALL)
_NEW = 6
"""How many words that nothing above on the page said make a sentence worth keeping whole."""
_SENTENCE = re.compile(r"(?<=[.:?!])\s+(?=[^a-z\s])")
_BLOCK = re.compile(r"</(?:p|li|dd|dt|summary|td|th|tr|blockquote|figcaption)>")
_FIRST = 2
"""How many sentences of a section are kept of a page that is found by how its sections begin."""
_BREAK = "\N{PARAGRAPH SEPARATOR}"
_TERM = re.compile(r'<dt><strong id="(?P<id>[^"]+)">(?P<name>.*?)</strong></dt>\s*<dd>(?P<says>.*?)</dd>', re.DOTALL)


@lru_cache(maxsize=100)  # a rebuild asks again for each page
def to_index(content: str, entries: tuple[SearchEntry, ...] = (), *, whole: bool = True) -> str:
    """Return what the indexer gets of a page.

    Args:
        content: The page's HTML.
        entries: What stands for some of its elements.
        whole: Whether a section is found by all its words, or by how it begins, as on a page that grows for ever.
    """
    seen = set[str]()
    content = content.replace("<wbr>", "")
    function = re.compile(rf"\b(?:{'|'.join(project.adapter.functions) or '(?!)'})(?:\.[A-Za-z_]\w*)+")
    content = _PYTHON.sub(lambda match: _once(function.findall(_text(match[0])), seen), content)
    content = _DROPPED.sub("", content)
    for name in project.adapter.replaced:
        content = re.sub(rf'<(?P<tag>\w+) class="{name}\b.*?</(?P=tag)>', "", content, flags=re.DOTALL)
    content = _put(entries, content)
    content = _TERM.sub(r'<h2 id="\g<id>">\g<name></h2><p>\g<says></p>', content)
    content = _REPEATING.sub(lambda match: _shorten(match[0], seen), content)
    content = content.replace(f'<p class="claim">{SAYS}', "<p>")
    sections, last, said = [], 0, set[str]()
    for heading in _HEADING.finditer(content):
        sections += [_condense(content[last : heading.start()], said, whole=whole), heading[0]]
        last = heading.end()
    return "".join([*sections, _condense(content[last:], said, whole=whole)])


def rank(
    index: Iterable[dict[str, Any]],
    url: str,
    entries: Iterable[SearchEntry],
    asked: Mapping[str, list[str]] = MappingProxyType({}),
) -> set[str]:
    """Put the entries of a page, and the sections that answer what readers ask, before what other pages say of it.

    Args:
        index: What the search plugin has of the pages so far; changed in place.
        url: The address of the page in the site.
        entries: Those of the page.
        asked: What readers type, in their own words, by the id of the section that answers; an empty id for the page.

    Returns:
        The ids of `asked` that the page has not.
    """
    boosts = {f"{url}#{entry.id}": entry.boost for entry in entries if entry.title and entry.boost != 1}
    words = {f"{url}#{section}" if section else url: words for section, words in asked.items()}
    found = set[str]()
    for indexed in index:
        if indexed["location"] in boosts:
            indexed["boost"] = boosts[indexed["location"]]
        if indexed["location"] in words:
            indexed["tags"] = words[indexed["location"]]
            found.add(indexed["location"])
    return {address.partition("#")[2] for address in words.keys() - found}


def read_asked(path: Path) -> dict[str, dict[str, list[str]]]:
    """Return what readers type, by page and by the id of the section that answers; nothing where there is no file."""
    told = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    asked: dict[str, dict[str, list[str]]] = {}
    for place, words in told.items():
        page, _, section = place.partition("#")
        asked.setdefault(page, {})[section] = words
    return asked


def _put(entries: Iterable[SearchEntry], content: str) -> str:
    """Return a page with each entry in the place of its element."""
    known = {entry.id: entry for entry in entries}
    if not known:
        return content
    ids = "|".join(map(re.escape, known))
    element = re.compile(rf'<(?P<tag>\w+)\b[^>]*\bid="(?P<id>{ids})"[^>]*>.*?</(?P=tag)>', re.DOTALL)
    return element.sub(lambda match: _show(known[match["id"]]), content)


def _show(entry: SearchEntry) -> str:
    title = f'<h4 id="{entry.id}">{entry.title}</h4>' if entry.title else ""
    return f"{title}<p>{entry.text}</p>"


def _condense(section: str, said: set[str], *, whole: bool) -> str:
    """Return the text of a section: the sentences worth keeping, then each further word once.

    Args:
        section: Its HTML.
        said: The words of the page so far; those of the section are added.
        whole: Whether all of it counts, or its first sentences alone.
    """
    kept: list[str] = []
    rest = [word for words in _WORDS.findall(section) for word in html.unescape(words).split()]
    section = _WORDS.sub("", section)
    for paragraph in _text(_BLOCK.sub(_BREAK, section)).split(_BREAK):
        for sentence in _SENTENCE.split(" ".join(paragraph.split())):
            new = {word.lower() for word in _list_words(sentence)} - said - _EVERYWHERE
            if sentence and (not kept or len(new) >= _NEW):
                kept.append(sentence)
                said |= new
            else:
                rest += [word for word in _list_words(sentence) if word.lower() in new]
    kept, rest = (kept, rest) if whole else (kept[:_FIRST], [])
    said |= {word.lower() for word in rest}
    further = " ".join({word.lower(): word for word in rest}.values())
    return "".join(f"<p>{html.escape(sentence, quote=False)}</p>" for sentence in kept) + (
        f"<sub>{html.escape(further, quote=False)}</sub>" if further else ""
    )


def _text(part: str) -> str:
    return html.unescape(_TAG.sub(" ", _INLINE.sub("", part)))


def _list_words(text: str) -> list[str]:
    """Return the words of a text, names of instructions without their numbers."""
    return [_NUMBERED.sub("", word) for word in _WORD.findall(text)]


def _once(words: list[str], seen: set[str]) -> str:
    """Return the words that nothing above on the page said, as a list of words."""
    new = [word for word in dict.fromkeys(words) if word not in seen]
    seen.update(new)
    return f"<sub>{html.escape(' '.join(new))}</sub>" if new else ""


def _shorten(part: str, seen: set[str]) -> str:
    """Return the caption of a table or figure, and the words in it that are new."""
    caption = _CAPTION.search(part)
    words = _list_words(_TAG.sub(" ", _CAPTION.sub("", part)))
    return (f"<p>{_text(caption[0]).strip()}</p>" if caption else "") + _once(words, seen)
