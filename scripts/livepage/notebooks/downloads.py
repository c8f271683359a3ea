"""The downloadable notebook: cells without output, a first cell that installs the requirements, and absolute links."""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from livepage.notebooks.cells import Cell
from livepage.read import project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mkdocs.structure.files import Files

    from livepage.notebooks.cells import Notebook

_KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<to>[^)\s]+)\)(?:\{[^}\n]*\})?")
_ATTRIBUTES = re.compile(r" *\{:? *[#.][^}\n]*\} *$", re.MULTILINE)
_ELSEWHERE = re.compile(r"[a-z]+:")


def write_download(notebook: Notebook, address: str, find_page: Callable[[str], str | None]) -> str:
    """Return a notebook as JSON in nbformat 4.5; the same cells always give the same text.

    Args:
        notebook: The notebook.
        address: The address of the project's repository, or an empty string.
        find_page: A function that returns the absolute address for a relative link, or None if it is unknown.
    """
    title, *rest = _split_title(notebook)
    first = project.adapter.write_first_cell(address)
    cells = [title, *([Cell(first, 0, is_code=True)] if first else []), *rest]
    expanded = [part for cell in cells for part in _expand(cell)]
    json_cells = [_write_cell(at, cell, find_page) for at, cell in enumerate(expanded)]
    content = {"cells": json_cells, "metadata": _KERNEL, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _split_title(notebook: Notebook) -> list[Cell]:
    """Return the cells, with the text below the title moved into a cell of its own."""
    first, *rest = notebook.cells
    title, _, below = first.source.partition("\n")
    return [
        Cell(title, first.line, is_code=False),
        *([Cell(below.strip(), first.line, is_code=False)] if below.strip() else []),
        *rest,
    ]


def _expand(cell: Cell) -> Iterator[Cell]:
    """Yield the cells that represent a cell in the download.

    The project's adapter may replace a cell, a folded cell becomes text, and a check is left out.
    """
    if cell.metadata.get("check"):
        return
    own = project.adapter.expand_cell(cell.metadata)
    if own is not None:
        yield from (Cell(text, 0, is_code=kind == "code") for kind, text in own)
    elif summary := cell.metadata.get("fold"):
        body = f"```python\n{cell.source}\n```" if cell.is_code else cell.source
        yield Cell(fold(str(summary), body), 0, is_code=False)
    else:
        yield cell


def fold(summary: str, body: str) -> str:
    """Return Markdown that is folded under a summary line, in HTML that every notebook viewer supports."""
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"


def _write_cell(at: int, cell: Cell, find_page: Callable[[str], str | None]) -> dict[str, object]:
    source = cell.source if cell.is_code else _lead(_ATTRIBUTES.sub("", cell.source), find_page)
    # nbformat 4.5 requires an id for each cell; a hash keeps it the same from build to build.
    name = hashlib.sha256(f"{at}\n{source}".encode()).hexdigest()[:8]
    code: dict[str, object] = {"execution_count": None, "outputs": []} if cell.is_code else {}
    kind = "code" if cell.is_code else "markdown"
    return {"cell_type": kind, "id": name, "metadata": {}, "source": source.splitlines(keepends=True), **code}


def _lead(text: str, find_page: Callable[[str], str | None]) -> str:
    """Return Markdown with relative links turned into absolute ones, or into plain text if the address is unknown."""

    def resolve(link: re.Match[str]) -> str:
        if _ELSEWHERE.match(link["to"]):
            return f"[{link['text']}]({link['to']})"
        to = find_page(link["to"])
        return f"[{link['text']}]({to})" if to else link["text"]

    return _LINK.sub(resolve, text)


def address_of(site: str, page: str, files: Files, link: str) -> str | None:
    """Return the absolute address that a relative link leads to, or None if the target or the site's is unknown.

    Args:
        site: The address of the site, or an empty string.
        page: The file of the page with the link, relative to the folder of the pages.
        files: The files of the site.
        link: The link, to another file or to an id on the same page.
    """
    name, hash_, anchor = link.partition("#")
    source = posixpath.normpath(posixpath.join(posixpath.dirname(page), name)) if name else page
    file = files.get_file_from_path(source)
    return urljoin(site.rstrip("/") + "/", file.url) + hash_ + anchor if site and file else None
