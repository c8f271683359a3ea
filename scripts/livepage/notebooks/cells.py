"""The reader for notebooks: Python files in the percent format, as cells that know the line on which they begin."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from mkdocs.utils import meta

from livepage.read import Check, Prose, gather_sentences, project, read_sentences, relative

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_MARK = "# %%"
# The metadata keys under which jupytext stores the parts of a cell's header that it cannot read.
_UNREAD = {"title", "incorrectly_encoded_metadata"}
# The metadata key under which jupytext stores the number of blank lines after a cell.
_LAYOUT = "lines_to_next_cell"


@dataclass(frozen=True)
class Cell:
    """A cell of a notebook.

    Attributes:
        source: The cell's text; for a Markdown cell, without the comment marks.
        line: The line of the file on which the text begins.
        is_code: Whether the cell is Python; otherwise it is Markdown.
        metadata: The options in the cell's header, as in `# %% fold="A solution"`.
    """

    source: str
    line: int
    is_code: bool
    metadata: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Notebook:
    """A notebook as written.

    Attributes:
        cells: The cells; the first one does not include the front matter.
        front_matter: The YAML text above the title that describes the page, or an empty string.
    """

    cells: tuple[Cell, ...]
    front_matter: str = ""

    @property
    def code_cells(self) -> list[Cell]:
        """The cells that run, in order."""
        return [cell for cell in self.cells if cell.is_code]


def read_notebook(path: Path) -> Notebook:
    """Return the cells and the front matter of a notebook.

    Raises:
        ValueError: There is text above the first cell, or a cell's header cannot be read; the message says where.
    """
    return _read(relative(path, project.root), path.read_text(encoding="utf-8-sig"))


@lru_cache(maxsize=100)  # each rebuild reads every notebook again
def _read(name: str, text: str) -> Notebook:
    import jupytext  # type: ignore[import-untyped]  # ships no types

    lines = text.split("\n")
    marks = [at for at, line in enumerate(lines) if line.startswith(_MARK)]
    if above := next((at for at, line in enumerate(lines[: marks[0] if marks else None], 1) if line.strip()), None):
        message = f"{name}:{above}: this stands above the first cell, which begins with `{_MARK}`"
        raise ValueError(message)
    # jupytext gives no line numbers, so its cells are paired with the lines of their headers.
    cells: list[Cell] = []
    for mark, end, cell in zip(marks, [*marks[1:], len(lines)], jupytext.reads(text, "py:percent").cells, strict=True):
        if cell.cell_type == "raw" or _UNREAD & cell.metadata.keys():
            message = f'{name}:{mark + 1}: this begins no cell: write `# %%` or `# %% [markdown]`, then name="value"'
            raise ValueError(message)
        if source := cell.source.strip("\n").rstrip():
            line = next(at for at in range(mark + 1, end) if lines[at].strip()) + 1
            metadata = {key: value for key, value in cell.metadata.items() if key != _LAYOUT}
            cells.append(Cell(source, line, cell.cell_type == "code", metadata))
    return _split_front_matter(tuple(cells))


def read_markdown(path: Path) -> str:
    """Return the Markdown of a notebook with each line at its position in the file; all other lines are empty."""
    lines = [""] * len(path.read_text(encoding="utf-8-sig").split("\n"))
    for cell in read_notebook(path).cells:
        if not cell.is_code:
            text = cell.source.split("\n")
            lines[cell.line - 1 : cell.line - 1 + len(text)] = text
    return "\n".join(lines)


def read_prose(path: Path) -> Prose:
    """Return the sentences, checks and blocks of a page, which may be Markdown or a notebook."""
    name = relative(path, project.root)
    if path.suffix == ".md":
        return read_sentences(name, path.read_text(encoding="utf-8-sig"))
    cells = read_notebook(path).code_cells
    checks = [
        Check(str(cell.metadata["check"]), cell.source, cell.line - 1) for cell in cells if "check" in cell.metadata
    ]
    code = [(cell.line, cell.source) for cell in cells if "check" not in cell.metadata]
    return gather_sentences(name, read_markdown(path), checks, code)


def _split_front_matter(cells: tuple[Cell, ...]) -> Notebook:
    if not cells or cells[0].is_code:
        return Notebook(cells)
    first = cells[0]
    whole = f"{first.source}\n"
    rest = meta.get_data(whole)[0].lstrip()
    above = whole.removesuffix(rest)
    body = Cell(rest.rstrip(), first.line + above.count("\n"), is_code=False, metadata=first.metadata)
    return Notebook((body, *cells[1:]), above)
