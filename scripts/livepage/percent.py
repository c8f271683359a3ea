"""Read the cells of a notebook from a Python file in the percent format, each with the line on which it stands."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mkdocs.utils import meta

from livepage.origins import relative
from livepage.project import project

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_MARK = re.compile(r"# %%(?: +\[(?P<kind>\w+)\])?(?P<metadata>(?: +\w+=.*)?) *$")
_OPTION = re.compile(r"""(\w+)=("(?:[^"\\]|\\.)*"|\[[^\]]*\]|\w+)""")


@dataclass(frozen=True)
class Cell:
    """A cell.

    Attributes:
        source: Its text; that of a Markdown cell without the marks of the comment.
        line: The line of the file on which the text begins.
        is_code: Whether it is Python and not Markdown.
        metadata: What its mark says, as in `# %% fold="A solution"`.
    """

    source: str
    line: int
    is_code: bool
    metadata: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Notebook:
    """A notebook as it is written.

    Attributes:
        cells: Its cells; the first is without the front matter.
        front_matter: The text above the title in which the page says what it is, or an empty string.
    """

    cells: tuple[Cell, ...]
    front_matter: str = ""

    @property
    def code_cells(self) -> list[Cell]:
        """The cells that run, in order."""
        return [cell for cell in self.cells if cell.is_code]


def read(path: Path) -> Notebook:
    """Read a notebook.

    Raises:
        ValueError: Something stands above the first cell, or a mark cannot be read; the message names file and line.
    """
    name = relative(path, project.root)
    cells: list[Cell] = []
    lines = path.read_text(encoding="utf-8-sig").split("\n")
    starts = [at for at, line in enumerate(lines) if line.startswith("# %%")]
    if above := next((at for at, line in enumerate(lines[: starts[0] if starts else None], 1) if line.strip()), None):
        message = f"{name}:{above}: this stands above the first cell, which begins with `# %%`"
        raise ValueError(message)
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        mark = _MARK.match(lines[start])
        if mark is None or mark["kind"] not in {None, "markdown"}:
            message = f'{name}:{start + 1}: this begins no cell: write `# %%` or `# %% [markdown]`, then name="value"'
            raise ValueError(message)
        metadata = {name: ast.literal_eval(value) for name, value in _OPTION.findall(mark["metadata"])}
        body = lines[start + 1 : end]
        skipped = next((at for at, line in enumerate(body) if line.strip()), len(body))
        body = body[skipped:]
        if mark["kind"]:
            body = [re.sub(r"^# ?", "", line) for line in body]
        source = "\n".join(body).rstrip()
        if source:
            cells.append(Cell(source, start + 2 + skipped, mark["kind"] is None, metadata))
    return _split_front_matter(tuple(cells))


def read_prose(path: Path) -> str:
    """Return the Markdown of a notebook, each line where it stands in the file, and nothing in the other lines."""
    lines = [""] * len(path.read_text(encoding="utf-8-sig").split("\n"))
    for cell in read(path).cells:
        if not cell.is_code:
            text = cell.source.split("\n")
            lines[cell.line - 1 : cell.line - 1 + len(text)] = text
    return "\n".join(lines)


def _split_front_matter(cells: tuple[Cell, ...]) -> Notebook:
    if not cells or cells[0].is_code:
        return Notebook(cells)
    first = cells[0]
    whole = f"{first.source}\n"
    rest = meta.get_data(whole)[0].lstrip()
    above = whole.removesuffix(rest)
    body = Cell(rest.rstrip(), first.line + above.count("\n"), is_code=False, metadata=first.metadata)
    return Notebook((body, *cells[1:]), above)
