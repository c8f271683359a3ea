"""The cells of the notebook that this process runs, by the names that Python and JAX give their code."""

from __future__ import annotations

import linecache
import re
import sys
from pathlib import Path
from typing import Any


def name_cell(file: str) -> str:
    """Return a cell as one calls it, such as `cell 3`, from its code's file name; an empty string for other code."""
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython else None
    label = shell.compile.format_code_name(file) if shell and hasattr(shell.compile, "format_code_name") else None
    return f"cell {re.sub(r'[^0-9]', '', label[1])}" if label else ""


def list_cells() -> dict[str, tuple[str, str]]:
    """Return the name and the text of each cell that ran, by the file name of its code without the folder."""
    named = {file: name for file in [*linecache.cache] if (name := name_cell(file))}
    return {Path(file).name: (name, "".join(linecache.getlines(file))) for file, name in named.items()}
