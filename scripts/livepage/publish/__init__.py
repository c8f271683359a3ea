"""Publish what stands beside the pages: the search, their Markdown, lists and feed, and what a build is made of."""

from livepage.publish import (
    build_info,
    reading_time,
    search,
    site_checksum,
    social_cards,
    term_links,
    text_outputs,
)

__all__ = [
    "build_info",
    "reading_time",
    "search",
    "site_checksum",
    "social_cards",
    "term_links",
    "text_outputs",
]
