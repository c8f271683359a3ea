"""The cells of the notebook in this process, by the file names that Python and JAX use for their code."""

from __future__ import annotations

import linecache
import re
import sys
from pathlib import Path
from typing import Any


def name_cell(file: str) -> str:
    """Return the name of a cell, such as `cell 3`, for its code's file name, or an empty string for other code."""
    # Code outside of a notebook must not import IPython, which may be missing.
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython else None
    label = shell.compile.format_code_name(file) if shell and hasattr(shell.compile, "format_code_name") else None
    return f"cell {re.sub(r'[^0-9]', '', label[1])}" if label else ""


def list_cells() -> dict[str, tuple[str, str]]:
    """Return the name and the text of each executed cell, by the file name of its code without the folder."""
    # Another thread may change the cache, so its keys are copied first.
    names = {file: name for file in [*linecache.cache] if (name := name_cell(file))}
    return {Path(file).name: (name, "".join(linecache.getlines(file))) for file, name in names.items()}
