"""A dump's path with an optional module name, `DUMP:MODULE`, as users write it."""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path

from xla_inspect.dumps.file_names import FILE
from xla_inspect.dumps.mlir_content import is_mlir_file

_CODE = (".py", ".json")
_NAMED = re.compile(r".*\.(?:zip|tar|tgz|tar\.\w+|hlo|pb|pb\.gz|txt|txt\.gz)", re.IGNORECASE | re.DOTALL)
_LOOK = 5000


def split_dump(subject: str) -> tuple[str, str] | None:
    """Return the path of a dump and the module's name or an empty string, or None if the subject is not a dump.

    A folder is a dump, unless a name follows it and it is a Python package. A file is a dump unless it is Python code
    or MLIR, or a capture. A path that does not exist is a dump if its name has the form of one.
    """
    if _exists(subject):
        return None if subject.lower().endswith(_CODE) or is_mlir_file(Path(subject)) else (subject, "")
    # Folder names may contain colons, so the longest path that exists counts.
    for match in reversed([*re.finditer(":", subject)]):
        path, module = subject[: match.start()], subject[match.end() :]
        if path and _exists(path):
            is_code = path.lower().endswith(_CODE) or (Path(path).is_dir() and _is_package(Path(path)))
            is_code = is_code or is_mlir_file(Path(path))
            return None if is_code else (path, module)
    return (subject, "") if _NAMED.fullmatch(subject) else None


def _exists(path: str) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:  # a null character
        return False


def _is_package(folder: Path) -> bool:
    """Return whether a folder has no dumped file, but contains Python code or is next to a `.py` file of its name."""
    try:
        with os.scandir(folder) as entries:
            # A dump may have so many files that listing them all would take long.
            names = [entry.name for entry in islice(entries, _LOOK)]
    except OSError:
        return False
    # XLA may have dumped into a folder that also contains code.
    if any(map(FILE.fullmatch, names)):
        return False
    return any(name.endswith(".py") for name in names) or Path(f"{folder}.py").is_file()
