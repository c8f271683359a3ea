"""The programs that the playground offers to begin with, each with a question that an edit answers."""

from __future__ import annotations

import ast
import tomllib
from importlib import resources
from typing import Any


def list_starters() -> list[dict[str, Any]]:
    """Return the starting points, in the order in which they are offered.

    Returns:
        Of each its `name`, `title`, `question`, `code`, `function`, `arguments` (empty: those of `EXAMPLE`), `options`
        as the page sends them, and the `target` and `view` that show what the question asks about.
    """
    folder = resources.files(__package__) / "starters"
    told = tomllib.loads((folder / "starters.toml").read_text(encoding="utf-8"))
    found = []
    for name, entry in told.items():
        code = (folder / f"{name}.py").read_text(encoding="utf-8")
        found.append(
            {
                "name": name,
                "title": entry["title"],
                "question": ast.get_docstring(ast.parse(code)),
                "code": code,
                "function": entry["function"],
                "arguments": "",
                "options": {"mesh": entry["mesh"]} if "mesh" in entry else {},
                "target": entry["target"],
                "view": entry["view"],
            }
        )
    return found
