"""The stored Markdown of converted notebooks, with all of its dependencies."""

from __future__ import annotations

import os
import pickle
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from livepage.keep import KERNEL_REPORT, Inputs, KernelRecord, hash_common, make_key, page_store
from livepage.notebooks.cells import read_notebook
from livepage.read import log, project, relative

if TYPE_CHECKING:
    from collections.abc import Callable

KIND = "notebooks"


def recall(path: Path) -> str | None:
    """Return the stored Markdown of a notebook, or None."""
    entry = page_store.find_stored(KIND, relative(path, project.root), _make_key(path))
    return entry.data if entry else None


def convert(path: Path, run: Callable[[Path], str]) -> str:
    """Run a notebook, store the resulting Markdown, and return it.

    Raises:
        Exception: Any error of the notebook, its process or its conversion.
    """
    key, files = _make_key(path), _list_files(path)
    before = Inputs.take(files)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report"
        os.environ[KERNEL_REPORT] = str(report)  # the notebook's process writes its inputs there
        text = run(path)
        record = pickle.loads(report.read_bytes()) if report.is_file() else KernelRecord()  # noqa: S301 - our own
    name, inputs = relative(path, project.root), record.make_inputs() | before
    if inputs.fleeting:
        log.info("%s is not kept: it read %s", name, inputs.fleeting)
    page_store.keep(KIND, name, key, inputs, text)
    return text


def _make_key(path: Path) -> str:
    cells = [(cell.source, dict(cell.metadata)) for cell in read_notebook(path).cells]
    common = hash_common("read", "run", "keep", "notebooks")
    return make_key(common, relative(path, project.root), cells)


def _list_files(path: Path) -> set[str]:
    """Return the files that a notebook displays because its metadata says so; its process reports the others."""
    cells = read_notebook(path).code_cells
    return {str(file) for cell in cells for file in project.adapter.list_files(cell.metadata)}
