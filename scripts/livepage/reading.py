"""How long a page takes to read."""

from __future__ import annotations

import re

WORDS_A_MINUTE = 200
LINES_A_MINUTE = 30

_LISTING = re.compile(r"<pre\b.*?</pre>", re.DOTALL)
_DRAWING = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_ANSWERED = re.compile(r'<p class="answer">')


def add_time(html: str) -> str:
    """Return a chapter with its reading time under the title; a page that answers no question stays as it is."""
    if not _ANSWERED.search(html):
        return html
    minutes = estimate(html)
    return html.replace(
        "</h1>", f'</h1>\n<p class="reading-time">About {minutes} minute{"s" * (minutes > 1)} to read</p>', 1
    )


def estimate(html: str) -> int:
    """Return the minutes that a page takes: its words, and the lines of the listings that are not folded.

    At 200 words a minute, of the 175 to 300 that Brysbaert (2019, doi:10.1016/j.jml.2019.104047) gives for adults who
    read in silence; thirty lines of code take a minute.
    """
    # Folds hold folds: the innermost go first.
    open_html: str = html
    count = 1
    while count:
        open_html, count = re.subn(r"<details\b(?:(?!<details\b).)*?</details>", " ", open_html, flags=re.DOTALL)
    lines = sum(listing.count("\n") for listing in _LISTING.findall(open_html))
    words = len(_TAG.sub(" ", _DRAWING.sub(" ", _LISTING.sub(" ", open_html))).split())
    return round(words / WORDS_A_MINUTE + lines / LINES_A_MINUTE) or 1
