"""The record of the inputs that a notebook's process reads, written for the process that started it."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path
from typing import Any

from livepage.keep.watch import Watch
from livepage.read import load_adapter, project
from livepage.run import kernel_asserts

REPORT = "LIVEPAGE_REPORT"
"""The environment variable with the path of the file to which a notebook's process writes its inputs."""


def install_watch(root: str, adapter: str, *, is_whole: bool) -> None:
    """Make failed checks in this notebook process raise, and write its inputs to the report after each cell.

    Args:
        root: The project's folder.
        adapter: The name of the module with the project's adapter, or an empty string.
        is_whole: Whether all targets are available, so that each assert has to run.
    """
    import IPython

    project.root, project.adapter = Path(root), load_adapter(adapter)
    kernel_asserts.install_asserts(is_whole=is_whole)
    report = os.environ.get(REPORT)
    shell: Any = IPython.get_ipython()
    if report:
        watch = Watch()
        watch.__enter__()  # for as long as the process lives
        shell.events.register("post_run_cell", lambda _: _write(watch, Path(report)))


def _write(watch: Watch, report: Path) -> None:
    """Write the inputs that were read so far to the report."""
    modules = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    report.write_bytes(pickle.dumps(watch.make_inputs(filter(None, modules))))
