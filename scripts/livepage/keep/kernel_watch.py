"""Note what the process of a notebook reads, and tell the process that started it."""

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
"""The variable that names the file in which a notebook's process says what it read."""


def install_watch(root: str, adapter: str, *, is_whole: bool) -> None:
    """Let the checks of this process, which is a notebook's, fail, and write after each cell what it read."""
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
    """Tell what was read by now."""
    modules = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    report.write_bytes(pickle.dumps(watch.make_inputs(filter(None, modules))))
