"""The predictions of pages, read from the pages' blocks."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tests import turns

from livepage.read import Kind, Origin, read_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

ROOT = Path(__file__).resolve().parents[2]
DECIDES = {
    "ask_which": {0: "measured"},
    "ask_value": {0: "key", 1: "others"},
    "ask_whether": {0: "holds"},
    "ask_reason": {0: "reasons"},
}
"""The arguments of each function of questions that decide the answer, by position and name."""


def list_pages() -> Iterator[Path]:
    """Yield the pages that ask for predictions."""
    for path in sorted((ROOT / "docs").rglob("*.md")):
        if re.search(r"prediction\.ask_", path.read_text(encoding="utf-8")):
            yield path


def parametrize_asking(metafunc: pytest.Metafunc) -> None:
    """Make one test for each page with predictions, for those whose turn it is, or for those that `--page` names."""
    for name in {"asking", "asking_in_turn"} & {*metafunc.fixturenames}:
        chosen = {Path(page).resolve() for page in metafunc.config.getoption("--page")}
        pages = [page for page in list_pages() if not chosen or page in chosen]
        if name == "asking_in_turn" and not chosen:
            pages = turns.choose(pages)
        metafunc.parametrize(name, pages, ids=[page.relative_to(ROOT / "docs").as_posix() for page in pages])


def read_code(page: Path) -> list[str]:
    """Return the code of each block of a page."""
    name, lines = page.relative_to(ROOT).as_posix(), page.read_text(encoding="utf-8").split("\n")
    source = read_pieces(name, lines, [Origin(name, number) for number in range(1, len(lines) + 1)])
    return [piece.code for piece in source.pieces if piece.kind is Kind.BLOCK]


def list_calls(tree: ast.AST) -> list[ast.Call]:
    """Return the calls in some code that ask for a prediction."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call) and name_call(node.func) in DECIDES]


def name_call(function: ast.expr) -> str:
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
