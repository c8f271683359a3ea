"""Notebooks, both as pages of the site and as files that readers download."""

from livepage.notebooks import notebook_pages
from livepage.notebooks.cells import read_markdown, read_notebook, read_prose
from livepage.notebooks.downloads import fold, write_download

__all__ = [
    "fold",
    "notebook_pages",
    "read_markdown",
    "read_notebook",
    "read_prose",
    "write_download",
]
