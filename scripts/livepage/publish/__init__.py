"""The published files other than the pages: search index, Markdown, lists and feed, social cards, PDF, and checksum."""

from livepage.publish import (
    build_info,
    chapters_pdf,
    reading_time,
    search,
    site_checksum,
    social_cards,
    term_links,
    text_outputs,
)

__all__ = [
    "build_info",
    "chapters_pdf",
    "reading_time",
    "search",
    "site_checksum",
    "social_cards",
    "term_links",
    "text_outputs",
]
