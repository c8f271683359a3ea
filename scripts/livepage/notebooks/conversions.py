"""The Markdown that notebooks were converted to, kept with all that it depends on."""

from __future__ import annotations

import os
import pickle
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from livepage.keep import KERNEL_REPORT, Inputs, outcomes, page_store
from livepage.notebooks.cells import read_notebook
from livepage.read import log, project, relative

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KIND = "notebooks"


def recall(path: Path) -> str | None:
    """Return what is kept of a notebook, or None."""
    entry = page_store.find(KIND, relative(path, project.root), _make_key(path))
    return entry.data if entry else None


def convert(path: Path, run: Callable[[Path], str]) -> str:
    """Return the Markdown that running a notebook makes of it, and keep it.

    Raises:
        Exception: Whatever the notebook, its process or its conversion ends with.
    """
    key, files = _make_key(path), _list_files(path)
    before = Inputs.take(files)
    with _reported() as report:
        text = run(path)
    name = relative(path, project.root)
    met: Inputs = pickle.loads(report.read_bytes()) if report.stat().st_size else Inputs()  # noqa: S301 - our own
    inputs = replace(met, files={**met.files, **before.files})
    report.unlink()
    if inputs.fleeting:
        log.info("%s is not kept: it read %s", name, inputs.fleeting)
    page_store.keep(KIND, name, key, inputs, text)
    return text


@contextmanager
def _reported() -> Iterator[Path]:
    """Let the process of a notebook write what it read into a file."""
    with tempfile.NamedTemporaryFile(delete=False) as file:
        os.environ[KERNEL_REPORT] = file.name
    try:
        yield Path(file.name)
    except BaseException:
        Path(file.name).unlink(missing_ok=True)
        raise
    finally:
        os.environ.pop(KERNEL_REPORT)


def _make_key(path: Path) -> str:
    cells = [(cell.source, dict(cell.metadata)) for cell in read_notebook(path).cells]
    common = outcomes.hash_common("read", "run", "keep", "notebooks")
    return outcomes.make_key(common, relative(path, project.root), cells)


def _list_files(path: Path) -> set[str]:
    """Return the files that a notebook imports, or shows by its metadata."""
    cells = read_notebook(path).code_cells
    shown = {str(file) for cell in cells for file in project.adapter.list_files(cell.metadata)}
    return outcomes.imported_files(cell.source for cell in cells) | shown
