"""The notebook that a reader takes away: the cells without output, what they need installed first, links that lead."""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from livepage.percent import Cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from livepage.percent import Notebook

_KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<to>[^)\s]+)\)(?:\{[^}\n]*\})?")
_ATTRIBUTES = re.compile(r" *\{:? *[#.][^}\n]*\} *$", re.MULTILINE)
_ELSEWHERE = re.compile(r"[a-z]+:")

_READY = """\
# What the cells below need. In the project's own environment this does nothing.
import importlib.util

if importlib.util.find_spec("xla_inspect") is None:
"""
_FETCH = """\
    !git clone --quiet --depth 1 {address} inside-xla
    %cd -q inside-xla
    %pip install --quiet --editable .
"""
_REFUSE = """\
    raise ModuleNotFoundError("open this notebook in the project's environment: `uv run --with jupyterlab jupyter lab`")
"""
_MARKING = """
%load_ext xla_inspect.practice.marking
"""


def write(notebook: Notebook, address: str, find_page: Callable[[str], str | None]) -> str:
    """Return a notebook as JSON of nbformat 4.5, the same for the same cells.

    Args:
        notebook: The notebook.
        address: Where the project's repository is, or an empty string.
        find_page: Returns the whole address of the page that a relative link leads to, or None where that is unknown.
    """
    install = _READY + (_FETCH.format(address=address) if address else _REFUSE) + _MARKING
    cells = [_split_title(notebook)[0], Cell(install.rstrip(), 0, is_code=True), *_split_title(notebook)[1:]]
    written = [each for cell in cells for each in _expand(cell)]
    made = [_write_cell(at, cell, find_page) for at, cell in enumerate(written)]
    content = {"cells": made, "metadata": _KERNEL, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _split_title(notebook: Notebook) -> list[Cell]:
    """Return the cells; what follows the title in its cell is a cell of its own."""
    first, *rest = notebook.cells
    title, _, below = first.source.partition("\n")
    return [
        Cell(title, first.line, is_code=False),
        *([Cell(below.strip(), first.line, is_code=False)] if below.strip() else []),
        *rest,
    ]


def _expand(cell: Cell) -> Iterator[Cell]:
    """Yield what a cell is in a notebook: an exercise is several cells, what is folded is text, a check is left out."""
    if cell.metadata.get("check"):
        return
    if key := cell.metadata.get("exercise"):
        yield from _write_exercise(str(key))
    elif phase := cell.metadata.get("references"):
        from xla_inspect.practice.notebook import tell_references

        yield Cell(tell_references(str(phase)), 0, is_code=False)
    elif fold := cell.metadata.get("fold"):
        body = f"```python\n{cell.source}\n```" if cell.is_code else cell.source
        yield Cell(_fold(str(fold), body), 0, is_code=False)
    else:
        yield cell


def _write_exercise(key: str) -> Iterator[Cell]:
    from xla_inspect.practice import notebook as shown

    each = shown.find_exercise(key)
    task = f"### {each.title}\n\n{each.task}\n\nWrite it in the next cell, and run the cell to have it marked."
    hints = [_fold(f"{number} hint", hint) for number, hint in zip(shown.ORDINALS, each.hints, strict=True)]
    yield Cell(task, 0, is_code=False)
    yield Cell(f"%%exercise {key}\n{shown.starter(each)}".rstrip(), 0, is_code=True)
    yield Cell("\n\n".join([*hints, _fold("A solution", shown.tell_solution(each))]), 0, is_code=False)


def _fold(summary: str, body: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"


def _write_cell(at: int, cell: Cell, find_page: Callable[[str], str | None]) -> dict[str, object]:
    source = cell.source if cell.is_code else _lead(_ATTRIBUTES.sub("", cell.source), find_page)
    name = hashlib.sha256(f"{at}\n{source}".encode()).hexdigest()[:8]
    code: dict[str, object] = {"execution_count": None, "outputs": []} if cell.is_code else {}
    kind = "code" if cell.is_code else "markdown"
    return {"cell_type": kind, "id": name, "metadata": {}, "source": source.splitlines(keepends=True), **code}


def _lead(text: str, find_page: Callable[[str], str | None]) -> str:
    """Return Markdown whose relative links lead to the site, or are plain text where nobody knows its address."""

    def resolve(link: re.Match[str]) -> str:
        if _ELSEWHERE.match(link["to"]):
            return f"[{link['text']}]({link['to']})"
        to = find_page(link["to"])
        return f"[{link['text']}]({to})" if to else link["text"]

    return _LINK.sub(resolve, text)


def address_of(site: str, page: str, link: str, find_url: Callable[[str], str | None]) -> str | None:
    """Return the whole address of what a relative link on a page leads to.

    Args:
        site: The address of the site, or an empty string.
        page: The page's file below the folder of the pages.
        link: The link, to another such file or to an id of this page.
        find_url: Returns the address below the site's of a file, or None where there is none.
    """
    file, hash_, name = link.partition("#")
    source = posixpath.normpath(posixpath.join(posixpath.dirname(page), file)) if file else page
    url = find_url(source)
    return urljoin(site.rstrip("/") + "/", url) + hash_ + name if site and url is not None else None
