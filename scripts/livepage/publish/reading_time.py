"""The estimated reading time of a chapter, from its HTML."""

from __future__ import annotations

import re
from functools import lru_cache

from bs4 import BeautifulSoup

WORDS_A_MINUTE = 180
LINES_A_MINUTE = 30

# The parts that a reader skips or sees only after a click: folded text, graphics, all tabs but the first, and the
# versions of packages.
_UNREAD = "script, style, label, button, [popover], details:not([open]), .tabbed-block ~ .tabbed-block, .made"
# Most tags color listings or belong to drawings. They separate no words, and parsing is faster without them.
_INSIDE_WORDS = re.compile(r"</?(?:span|code|a|strong|em)\b[^>]*>|<svg\b.*?</svg>", re.DOTALL)


def add_time(html: str) -> str:
    """Return a page's HTML with the reading time under the title, or unchanged if it has no `<p class="answer">`."""
    if '<p class="answer">' not in html:
        return html
    minutes = estimate(html)
    paragraph = f'<p class="reading-time">About {minutes} minute{"s" * (minutes > 1)} to read</p>'
    return html.replace("</h1>", f"</h1>\n{paragraph}", 1)


@lru_cache(maxsize=100)  # each rebuild estimates every page again
def estimate(html: str) -> int:
    """Return the estimated reading time in minutes, from the visible words and the lines of listings.

    Brysbaert (2019, doi:10.1016/j.jml.2019.104047) gives 175 to 300 words a minute for adults who read silently. This
    prose is dense, so the estimate uses 180, and 30 lines of code a minute. Of several tabs, only the first one counts.
    """
    page = BeautifulSoup(_INSIDE_WORDS.sub("", html), "html.parser")
    for part in page.select(_UNREAD):
        part.decompose()
    lines = sum(listing.extract().get_text().count("\n") for listing in page("pre"))
    return round(len(page.get_text(" ").split()) / WORDS_A_MINUTE + lines / LINES_A_MINUTE) or 1
