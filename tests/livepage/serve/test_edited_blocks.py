"""An edited block of a served site gives the same page as a full build."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Server

pytestmark = pytest.mark.long("authors alone see it; otherwise a sentence and a block are edited", but=["no tool"])

EDITS = {
    "a number in the last block": ("print('last', 1)", "print('last', 2)", "last 2"),
    "a number in the first block": ("x = 1", "x = 10", "y is 11"),
    "code that fails": ("y = x + 1", "y = x / 0", "did not run"),
    "code that is mended": ("y = x / 0", "y = x / 4", "y is 2.5"),
    "a block that is new": ("END", "```python exec=\"on\"\nprint('new', x)\n```\n", "new 10"),
    "a block below a module that changed": ("print('last', 2)", "print('last', 3)", "word 22"),
}
BLOCKS = ("x = 1", "y = x + 1", "print('y is', y)", "import helper\nprint('word', helper.WORD)", "print('last', 1)")


@pytest.mark.parametrize("head", ["import tool\n", ""], ids=["the tool", "no tool"])
def test_an_edited_block_is_shown_as_a_full_build_shows_it(
    serve: Callable[[dict[str, str]], Server], tmp_path: Path, head: str
) -> None:
    fences = "\n\n".join(f'```python exec="on"\n{head}{block}\n```' for block in BLOCKS)
    page = f"# Page\n\n{fences}\n\nThe value is `= x + 100`.\n\nEND\n"
    server = serve({"docs/page.md": page, "docs/other.md": "# Other\n", "snippets/helper.py": "WORD = 1\n"})
    server.get("page/", "last 1")
    for number, (old, new, place) in enumerate(EDITS.values()):
        text = (server.site.root / "docs/page.md").read_text(encoding="utf-8")
        assert old in text
        if place == "word 22":
            (server.site.root / "snippets/helper.py").write_text("WORD = 22\n", encoding="utf-8")
        (server.site.root / "docs/page.md").write_text(text.replace(old, new), encoding="utf-8")
        assert read_article(server.get("page/", place)) == build_whole(server, tmp_path / f"built-{number}", "page")


def read_article(page: str) -> str:
    return page.partition("<article>")[2].partition("</article>")[0]


def build_whole(server: Server, folder: Path, name: str) -> str:
    """Return the article of a page as a full build in a process of its own writes it."""
    command = [sys.executable, "-m", "mkdocs", "build", "--no-strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "LIVE": "all"}
    subprocess.run(command, cwd=server.site.root, env=environment, check=False, capture_output=True)
    return read_article((folder / name / "index.html").read_text(encoding="utf-8"))
