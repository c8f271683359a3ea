"""Render a page: each piece as HTML, its ids and links checked, and each dead link told with its line."""

from livepage.render import html_output
from livepage.render.link_lines import LineOfLink
from livepage.render.live_page import Page

__all__ = ["LineOfLink", "Page", "html_output"]
