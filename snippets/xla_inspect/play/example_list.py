"""The playground's example programs, each with a question that the reader answers by editing it."""

from __future__ import annotations

import ast
import tomllib
from importlib import resources
from typing import Any


def list_examples() -> list[dict[str, Any]]:
    """Return the examples in the order of the page's menu.

    Returns:
        For each example: `name`, `title`, `question`, `code`, `function`, `arguments` (if empty, those of `EXAMPLE`),
        `options` as the page sends them, and the `target` and `view` that show the subject of the question.
    """
    folder = resources.files(__package__) / "examples"
    examples = []
    for name, entry in tomllib.loads((folder / "examples.toml").read_text(encoding="utf-8")).items():
        code = (folder / f"{name}.py").read_text(encoding="utf-8")
        mesh, question = entry.pop("mesh", None), ast.get_docstring(ast.parse(code))
        options = {"mesh": mesh} if mesh else {}
        examples.append(
            {"name": name, **entry, "question": question, "code": code, "arguments": "", "options": options}
        )
    return examples
