"""How long a page takes to read."""

from __future__ import annotations

import re
from functools import lru_cache
from html.parser import HTMLParser

WORDS_A_MINUTE = 200
LINES_A_MINUTE = 30

_VOID = {"area", "br", "col", "hr", "img", "input", "link", "meta", "wbr"}
_UNREAD = {"script", "style", "label", "button"}
# Most of a page's tags are the colours of its listings, and most of the others draw; none of them parts two words.
_INSIDE_WORDS = re.compile(r"</?(?:span|code|a|strong|em)\b[^>]*>|<svg\b.*?</svg>", re.DOTALL)


def add_time(html: str) -> str:
    """Return a chapter with its reading time under the title; a page that answers no question stays as it is."""
    if '<p class="answer">' not in html:
        return html
    minutes = estimate(html)
    paragraph = f'<p class="reading-time">About {minutes} minute{"s" * (minutes > 1)} to read</p>'
    return html.replace("</h1>", f"</h1>\n{paragraph}", 1)


@lru_cache(maxsize=100)  # a rebuild asks again for each page
def estimate(html: str) -> int:
    """Return the minutes that a page takes: its words, and the lines of its listings, as far as they stand open.

    At 200 words a minute, of the 175 to 300 that Brysbaert (2019, doi:10.1016/j.jml.2019.104047) gives for adults who
    read in silence; thirty lines of code take a minute. Of tabs the first counts.
    """
    reader = _WordReader()
    reader.feed(_INSIDE_WORDS.sub("", html))
    return round(reader.words / WORDS_A_MINUTE + reader.lines / LINES_A_MINUTE) or 1


class _WordReader(HTMLParser):
    """Counts words and lines of listings outside of what is folded, drawn or on a tab behind."""

    def __init__(self) -> None:
        super().__init__()
        self.words = self.lines = 0
        # The open elements: name, whether what they hold is read, and how many tabs they have had.
        self.stack: list[list[str | bool | int]] = [["", True, 0]]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            return
        names = dict(attrs)
        is_hidden = "popover" in names or (tag == "details" and "open" not in names)
        is_read = bool(self.stack[-1][1]) and tag not in _UNREAD and not is_hidden
        if "tabbed-block" in (names.get("class") or "").split():
            is_read = is_read and not self.stack[-1][2]
            self.stack[-1][2] = 1
        self.stack.append([tag, is_read, 0])

    def handle_endtag(self, tag: str) -> None:
        if any(name == tag for name, _, _ in self.stack):
            while self.stack.pop()[0] != tag:
                pass

    def handle_data(self, data: str) -> None:
        if not self.stack[-1][1]:
            return
        if any(name == "pre" for name, _, _ in self.stack):
            self.lines += data.count("\n")
        else:
            self.words += len(data.split())
