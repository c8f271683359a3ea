"""The rendering of pages: pieces become HTML, ids and links are checked, and dead links get line numbers."""

from livepage.render import html_output
from livepage.render.link_lines import LineOfLink, make_link_failure
from livepage.render.live_page import Page

__all__ = ["LineOfLink", "Page", "html_output", "make_link_failure"]
