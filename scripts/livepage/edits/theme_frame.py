"""What the theme makes of a page's content, as it stands on the built page: for a content that is not built."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from mkdocs.commands.build import get_context

if TYPE_CHECKING:
    from livepage.serve import Built

BEGINS, ENDS = "<!-- edit: content -->", "<!-- edit: end -->"
"""What stands around the content of a served page."""


def mark(content: str) -> str:
    """Return the content of a page with what says where it begins and ends."""
    return f"{BEGINS}\n{content}\n{ENDS}"


def dress(built: Built, page: str, content: str) -> str:
    """Return a page's content as the theme writes it.

    Args:
        built: The site as it was built last.
        page: The page's file, relative to the folder of the pages.
        content: What it shows now.
    """
    other = copy.copy(built.pages[page])
    other.content = mark(content)
    context = get_context(built.nav, built.page_files, built.config, other)
    html: str = built.env.get_template(other.meta.get("template", "main.html")).render(context)
    return cut(html)


def cut(html: str) -> str:
    """Return the content of a page that the theme was put around."""
    return html.partition(BEGINS)[2].partition(ENDS)[0].strip()
