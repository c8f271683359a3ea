"""The record of the inputs that a notebook's process reads, written for the process that started it."""

from __future__ import annotations

import os
import pickle
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livepage.keep.inputs import Inputs
from livepage.keep.reached import Reach, find_reached, list_tool_folders
from livepage.keep.watch import Watch, unwatched
from livepage.read import load_adapter, project
from livepage.run import kernel_asserts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

REPORT = "LIVEPAGE_REPORT"
"""The environment variable with the path of the file to which a notebook's process writes its inputs."""


@dataclass(frozen=True)
class KernelRecord:
    """The record of the inputs and functions that a notebook's process used until now.

    Attributes:
        read: The inputs that it read, and its modules outside the tool packages.
        names: The names in the functions of the tool packages that ran, by file.
        cells: The code of the cells that ran.
        modules: The files of all loaded modules.
        children: The arguments of the programs that it started.
    """

    read: Inputs = field(default_factory=Inputs)
    names: Mapping[str, set[str]] = field(default_factory=dict)
    cells: Sequence[str] = ()
    modules: Collection[str] = ()
    children: Sequence[str] = ()

    def make_inputs(self) -> Inputs:
        """Return all inputs of the notebook, with the files of the tool packages that it reached."""
        return self.read | Inputs.take(find_reached(self.names, self.cells, self.modules, self.children))


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
        watch, reach = Watch(), Reach()
        watch.__enter__()  # for as long as the process lives
        reach.__enter__()
        shell.events.register("post_run_cell", lambda _: _write(watch, reach, shell.user_ns["In"], Path(report)))


def _write(watch: Watch, reach: Reach, cells: Iterable[str], report: Path) -> None:
    """Write the inputs that were read so far to the report."""
    with unwatched():
        loaded = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
        # Most modules are those of installed packages, whose versions are in the keys of all pages.
        modules = {file for file in loaded if file and not file.startswith(f"{sys.prefix}{os.sep}")}
        own = {file for file in modules if not file.startswith(list_tool_folders())}
        record = KernelRecord(watch.make_inputs(own), dict(reach.names), [*cells], modules, watch.children)
    report.write_bytes(pickle.dumps(record))
