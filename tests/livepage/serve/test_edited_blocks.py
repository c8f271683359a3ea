"""While a site is served an edited block runs by itself, and the page ends as that of a full build, byte for byte."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Server

TOOL = "import tool\n"
EDITS = {
    "a number in the last block": ("print('last', 1)", "print('last', 2)", "d", "last 2"),
    "a number in the middle": ("y = x + 1", "y = x + 5", "bc", "y is 6"),
    "a number in the first block": ("x = 1", "x = 10", "abc", "y is 15"),
    "code that fails": ("y = x + 5", "y = x / 0", "bc", "did not run"),
    "code that is mended": ("y = x / 0", "y = x / 4", "bc", "y is 2.5"),
    "a block that is new": ("END", "```python exec=\"on\"\nNOTE('e')\nprint('new', x)\n```\n", "e", "new 10"),
}


def write_page(count: Path, head: str = TOOL) -> str:
    blocks = [
        f"{head}\ndef NOTE(name):\n    with open({str(count)!r}, 'a') as file:\n        file.write(name)",
        "NOTE('a')\nx = 1",
        "NOTE('b')\ny = x + 1",
        "NOTE('c')\nprint('y is', y)",
        "NOTE('d')\nprint('last', 1)",
    ]
    fences = "\n\n".join(f'```python exec="on"\n{block}\n```' for block in blocks)
    return f"# Page\n\n{fences}\n\nThe value is `= x + 100`.\n\nEND\n"


def edit(server: Server, name: str, old: str, new: str) -> None:
    page = server.site.root / "docs" / f"{name}.md"
    text = page.read_text(encoding="utf-8")
    assert old in text
    page.write_text(text.replace(old, new), encoding="utf-8")


def await_count(count: Path, wanted: str, *, longest: float = 20) -> None:
    """Wait until blocks ran."""
    end = time.monotonic() + longest
    while (ran := count.read_text(encoding="utf-8") if count.exists() else "") != wanted:
        assert time.monotonic() < end, f"{ran} ran, and not {wanted}"
        time.sleep(0.05)


def read_article(page: str) -> str:
    return page.partition("<article>")[2].partition("</article>")[0]


def build_whole(server: Server, folder: Path, name: str) -> str:
    """Return the article of a page as a full build in a process of its own writes it."""
    command = [sys.executable, "-m", "mkdocs", "build", "--no-strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "LIVE": "all"}
    subprocess.run(command, cwd=server.site.root, env=environment, check=False, capture_output=True)
    return read_article((folder / name / "index.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize("head", [TOOL, ""], ids=["in a process of its own", "in the server"])
def test_an_edit_runs_its_block_and_what_uses_it_and_then_once_more_the_whole_page_unseen(
    serve: Callable[[dict[str, str]], Server], tmp_path: Path, head: str
) -> None:
    count = tmp_path / "count"
    server = serve({"docs/page.md": write_page(count, head), "docs/other.md": "# Other\n"})
    server.get("page/", "last 1")
    edit(server, "page", "END", "A sentence.\n\nEND")
    server.get("page/", "A sentence.")
    count.write_text("", encoding="utf-8")
    # The first edit of code finds nothing held of the page.
    edit(server, "page", "print('last', 1)", "print('last', 0)")
    server.get("page/", "last 0")
    await_count(count, "abcd")
    edit(server, "page", "print('last', 0)", "print('last', 1)")
    server.get("page/", "last 1")
    for number, (old, new, ran, shown) in enumerate(EDITS.values()):
        count.write_text("", encoding="utf-8")
        edit(server, "page", old, new)
        server.get("page/", shown)
        assert count.read_text(encoding="utf-8") == ran
        page = server.get("page/", shown)
        letters = "abcde" if "NOTE('e')" in new else "abcd"
        await_count(count, ran + letters)
        time.sleep(0.5)
        assert read_article(server.get("page/", shown)) == read_article(page)
        assert read_article(page) == build_whole(server, tmp_path / f"built-{number}", "page")


def test_two_pages_that_are_edited_in_turn_run_in_part_each(
    serve: Callable[[dict[str, str]], Server], tmp_path: Path
) -> None:
    counts = {name: tmp_path / name for name in ("one", "two")}
    server = serve({f"docs/{name}.md": write_page(count) for name, count in counts.items()})
    for number in (10, 11, 12):
        for name, count in counts.items():
            server.get(f"{name}/", f"last {number - 1 if number > 10 else 1}")
            count.write_text("", encoding="utf-8")
            page = (server.site.root / "docs" / f"{name}.md").read_text(encoding="utf-8")
            old = re.search(r"print\('last', \d+\)", page)
            assert old
            edit(server, name, old[0], f"print('last', {number})")
            server.get(f"{name}/", f"last {number}")
            if number > 10:
                assert count.read_text(encoding="utf-8") == "d"


def test_a_module_that_changed_lets_the_whole_page_run(
    serve: Callable[[dict[str, str]], Server], tmp_path: Path
) -> None:
    count = tmp_path / "count"
    helper = "import helper\n"
    server = serve({"docs/page.md": write_page(count, TOOL + helper), "snippets/helper.py": "WORD = 1\n"})
    server.get("page/", "last 1")
    edit(server, "page", "print('last', 1)", "print('last', 2)")
    server.get("page/", "last 2")
    count.write_text("", encoding="utf-8")
    (server.site.root / "snippets/helper.py").write_text("WORD = 22\n", encoding="utf-8")
    edit(server, "page", "print('last', 2)", "print('last', 3, helper.WORD)")
    server.get("page/", "last 3 22")
    assert count.read_text(encoding="utf-8") == "abcd"


def test_what_was_guessed_wrong_is_put_right(serve: Callable[[dict[str, str]], Server], tmp_path: Path) -> None:
    count, state = tmp_path / "count", tmp_path / "state"
    hidden = f"from pathlib import Path\nif 'Q' in Path({str(state)!r}).read_text(): print('seen')"
    state.write_text("Q", encoding="utf-8")
    writing = f"Path({str(state)!r}).write_text('Q')"
    page = write_page(count, TOOL + "from pathlib import Path\n")
    page = page.replace("x = 1", f"{writing}\nx = 1").replace("print('y is', y)", f"{hidden}\nprint('y is', y)")
    # A file in the folder of temporary files is no input, and so nobody knows that one block reads what another writes.
    server = serve({"docs/page.md": page})
    assert "seen" in server.get("page/", "y is 2")
    edit(server, "page", "print('last', 1)", "print('last', 2)")
    server.get("page/", "last 2")
    count.write_text("", encoding="utf-8")
    edit(server, "page", "write_text('Q')", "write_text('-')")
    await_count(count, "a")
    assert "seen" in server.get("page/", "last 2")
    await_count(count, "aabcd")
    end = time.monotonic() + 20
    while "seen" in server.get("page/", "last 2"):
        assert time.monotonic() < end
        time.sleep(0.1)
