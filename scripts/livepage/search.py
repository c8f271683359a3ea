"""What the search finds: prose, opcodes, passes and terms, and of listings only the names of JAX's functions.

Nobody searches for the number of an instruction, and the text of compilers would be most of the index.
An opcode of the taxonomy and a term of the glossary are each an entry of their own, with a title, so that their name
finds them before every page that uses it. Of each section the search shows the first lines: of what follows them, each
word is kept once.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

# What is neither read nor searched for: listings, drawings, what versions made them, marks.
_DROPPED = re.compile(
    r"<pre\b.*?</pre>|<svg\b.*?</svg>|<(?:script|style|template)\b.*?</(?:script|style|template)>"
    r'|<a class="headerlink".*?</a>|<(?:p|small|span) class="(?:stamp|reading-time|filename)">.*?</(?:p|small|span)>'
    r'|<div class="tabbed-labels">.*?</div>|<div class="explorer\b.*?</div>',
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
_OPCODES = 3.0
"""How many times as good a result an opcode's card is as what other pages say of it."""
_SHOWN = 160
"""How much of a section is kept as it stands, in characters: a little more than the two lines that results show."""
_FUNCTION = re.compile(r"\b(?:jax|lax|jnp|nn|pl|pltpu|checkpoint|export|xla_inspect)(?:\.[A-Za-z_]\w*)+")
_OPCODE = re.compile(
    r'<details class="opcode" id="(?P<id>[^"]+)"><summary><code>(?P<name>.*?)</code>\s*<span>(?P<says>.*?)</span>'
    r".*?</summary>(?P<rest>.*?)</details>",
    re.DOTALL,
)
_CODE = re.compile(r"<code>[^<]*</code>")
_TERM = re.compile(r'<dt><strong id="(?P<id>[^"]+)">(?P<name>.*?)</strong></dt>\s*<dd>(?P<says>.*?)</dd>', re.DOTALL)
_CLAIM = re.compile(r'<li class="entry"[^>]*>.*?</li>', re.DOTALL)
_SAID = re.compile(r'<span class="(?:claim|truth)">(.*?)</span>', re.DOTALL)


@lru_cache(maxsize=100)  # a rebuild asks again for each page
def to_index(content: str, *, whole: bool = True) -> str:
    """Return what the indexer gets of a page.

    Args:
        content: The page's HTML.
        whole: Whether a section is found by all its words, or by how it begins, as on a page that grows for ever.
    """
    seen = set[str]()
    content = content.replace("<wbr>", "")
    content = _PYTHON.sub(lambda found: _once(_FUNCTION.findall(_text(found[0])), seen), content)
    content = _DROPPED.sub("", content)
    content = _OPCODE.sub(_show_opcode, content)
    content = _TERM.sub(r'<h2 id="\g<id>">\g<name></h2><p>\g<says></p>', content)
    content = _CLAIM.sub(lambda found: f"<p>{' '.join(_SAID.findall(found[0]))}</p>", content)
    content = _REPEATING.sub(lambda found: _shorten(found[0], seen), content)
    content = content.replace("<summary>Checked in this build: ", "<summary>")
    kept, last = [], 0
    for heading in _HEADING.finditer(content):
        kept += [_condense(content[last : heading.start()], whole=whole), heading[0]]
        last = heading.end()
    return "".join([*kept, _condense(content[last:], whole=whole)])


def rank(entries: Iterable[dict[str, Any]]) -> None:
    """Put an opcode before those whose names are longer by a word: `all-gather` before `all-gather-start`.

    Args:
        entries: What the search plugin has of the pages so far; changed in place.
    """
    for entry in entries:
        if "#op-" in entry["location"]:
            entry["boost"] = _OPCODES * (1 + 1 / len(entry["title"].split("-")))


def _condense(section: str, *, whole: bool) -> str:
    """Return the text of a section: how it begins, then, of the whole of it, each further word once."""
    text = " ".join(_text(section).split())
    cut = len(text) if len(text) <= _SHOWN else text.rfind(" ", 0, _SHOWN)
    begins, rest = text[:cut], text[cut:] if whole else ""
    known = {word.lower() for word in _list_words(begins)} | _EVERYWHERE
    words = {word.lower(): word for word in reversed(_list_words(rest)) if word.lower() not in known}
    further = " ".join(reversed(words.values()))
    return f"<p>{html.escape(' '.join(filter(None, [begins, further])), quote=False)}</p>" if begins else ""


def _text(part: str) -> str:
    return html.unescape(_TAG.sub(" ", _INLINE.sub("", part)))


def _list_words(text: str) -> list[str]:
    """Return the words of a text, names of instructions without their numbers."""
    return [_NUMBERED.sub("", word) for word in _WORD.findall(text)]


def _once(words: list[str], seen: set[str]) -> str:
    """Return the words that nothing above on the page said, as a paragraph."""
    new = [word for word in dict.fromkeys(words) if word not in seen]
    seen.update(new)
    return f"<p>{html.escape(' '.join(new))}</p>" if new else ""


def _shorten(part: str, seen: set[str]) -> str:
    """Return the caption of a table or figure, and the words in it that are new."""
    caption = _CAPTION.search(part)
    words = _list_words(_TAG.sub(" ", _CAPTION.sub("", part)))
    return (f"<p>{_text(caption[0]).strip()}</p>" if caption else "") + _once(words, seen)


def _show_opcode(found: re.Match[str]) -> str:
    """Return an opcode as a title, what it does, and the functions that it comes from, which its card names first."""
    functions = " ".join(dict.fromkeys(_CODE.findall(found["rest"].partition("</p>")[0])))
    return f'<h4 id="{found["id"]}">{found["name"]}</h4><p>{found["says"]} {functions}</p>'
