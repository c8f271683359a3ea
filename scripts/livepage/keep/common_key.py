"""The part of the store's keys that is the same for all pages.

It is a hash of the packages, Python's version, the machine, and the engine's code.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sysconfig
from functools import cache
from pathlib import Path

from livepage.keep.inputs import hash_file
from livepage.read import project

_PACKAGE = Path(__file__).parents[1]


def make_key(*parts: object) -> str:
    """Return a hash of values that JSON can represent."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:32]


def hash_common(*subpackages: str) -> str:
    """Return a hash of the packages, Python's version, the machine, and the code in these subpackages of the engine."""
    files = sorted(path for name in subpackages for path in (_PACKAGE / name).rglob("*") if path.suffix != ".pyc")
    code = {path.relative_to(_PACKAGE).as_posix(): hash_file(str(path)) for path in files if path.is_file()}
    return make_key(_list_packages(), platform.python_version(), project.adapter.describe_machine(), code)


@cache
def _list_packages() -> list[str]:
    return sorted(package.name for package in Path(sysconfig.get_path("purelib")).glob("*.dist-info"))
