"""The reading time of a page."""

from __future__ import annotations

import re
from functools import lru_cache

from bs4 import BeautifulSoup

WORDS_A_MINUTE = 180
LINES_A_MINUTE = 30

# What is folded, drawn or on a tab behind.
_UNREAD = "script, style, label, button, [popover], details:not([open]), .tabbed-block ~ .tabbed-block"
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

    Brysbaert (2019, doi:10.1016/j.jml.2019.104047) gives 175 to 300 words a minute for adults who read in silence. This
    prose is dense, so 180 are counted, and thirty lines of code take a minute. Only the first of several tabs counts.
    """
    page = BeautifulSoup(_INSIDE_WORDS.sub("", html), "html.parser")
    for part in page.select(_UNREAD):
        part.decompose()
    lines = sum(listing.extract().get_text().count("\n") for listing in page("pre"))
    return round(len(page.get_text(" ").split()) / WORDS_A_MINUTE + lines / LINES_A_MINUTE) or 1
