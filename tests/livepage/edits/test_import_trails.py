"""Code comes to a file by imports, directly or not; of a package only what is taken from it counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from livepage.edits.import_trails import ImportTrails

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "programs/edited.py": "",
    "programs/other.py": "",
    "chapters/__init__.py": "from chapters import plain, tables\nfrom chapters.tables import draw\n",
    "chapters/plain.py": "",
    "chapters/tables.py": "def draw():\n    from programs import edited\n",
    "chapters/circle.py": "from chapters import circle\n",
    "tool/__init__.py": "from programs import edited\n",
    "loading.py": "import importlib\nimportlib.import_module('programs.' + 'edited')\n",
}


@pytest.mark.parametrize(
    ("code", "comes"),
    [
        ("from programs import edited", True),
        ("from programs.edited import f", True),
        ("import programs.edited as e", True),
        ("from programs import other", False),
        ("from chapters import plain", False),
        ("from chapters import tables", True),
        ("from chapters import draw", True),
        ("from chapters import circle", False),
        ("import tool", False),
        ("import loading", True),
        ("run('snippets/programs/edited.py')", True),
        ("import json", False),
        ("import (", False),
    ],
)
def test_code_comes_to_a_file(tmp_path: Path, code: str, *, comes: bool) -> None:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    uses = ImportTrails(tmp_path, ("tool",)).find_uses(tmp_path / "programs" / "edited.py")
    assert uses(code) is comes
