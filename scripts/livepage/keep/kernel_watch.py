"""Note what the process of a notebook reads, and tell the process that started it."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path
from typing import Any

from livepage.keep.watch import Watch
from livepage.read import load_adapter, project

REPORT = "LIVEPAGE_REPORT"
"""The variable that names the file in which a notebook's process says what it read."""


def install(root: str, adapter: str) -> None:
    """Begin to note what this process, which is a notebook's, reads, and write it after each cell."""
    import IPython

    project.root, project.adapter = Path(root), load_adapter(adapter)
    report = os.environ.get(REPORT)
    shell: Any = IPython.get_ipython()
    if report:
        watch = Watch()
        watch.__enter__()  # for as long as the process lives
        told: list[int] = []
        shell.events.register("post_run_cell", lambda _: _write(watch, Path(report), told))


def _write(watch: Watch, report: Path, told: list[int]) -> None:
    """Tell what was read, where a cell read more than those before it: all of it is told anew, and only grows."""
    modules = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    noted = (modules, watch.files, watch.folders, watch.variables, watch.asked, watch.children, watch.fleeting)
    if told == (counts := [*map(len, noted)]):
        return
    told[:] = counts
    report.write_bytes(pickle.dumps(watch.make_inputs(file for file in modules if file)))
