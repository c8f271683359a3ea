"""Forbidden actions of a block: rejected with page and line, and undone before the next page."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import warnings
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Site

BLOCK = '```python exec="on"'

# What stands in a block, its line that is named, and what is said of it.
REFUSED = {
    "exit": ("import os\nos._exit(0)", 2, "os._exit(0): a block must not leave Python"),
    "exit_caught": ("import os\ntry:\n    os._exit(0)\nexcept Exception:\n    pass", 3, "os._exit(0): a block must"),
    "exec": ("import os\nos.execv('/bin/true', ['true'])", 2, "a block must not put another program"),
    "fork": ("import os\nif os.fork() == 0:\n    pass", 2, "a block must not fork the build"),
    "page": ("open('docs/new.md', 'w').write('# New')", 1, "a block must not write into the project: docs/new.md"),
    "module": (
        "from pathlib import Path\n\nPath('snippets/new.py').write_text('x = 1')",
        3,
        "a block must not write into the project: snippets/new.py",
    ),
    "bytes": (
        "import os\nos.open(b'new', os.O_CREAT | os.O_WRONLY)",
        2,
        "a block must not write into the project: new",
    ),
    "rename": ("import os\nos.rename('docs/index.md', '../x')", 2, "a block must not write into the project: docs/"),
    "remove": ("import os\nos.remove('docs/index.md')", 2, "a block must not write into the project: docs/index.md"),
    "folder": ("import os\nos.mkdir('docs/new')", 2, "a block must not write into the project: docs/new"),
    "tree": ("import shutil\nshutil.rmtree('docs')", 2, "a block must not write into the project: docs"),
    "much": ("for _ in range(20):\n    print('x' * 100_000)", 2, "a block must not print more than 1,000,000 char"),
    "surrogate": ("print('a\\udc80')", 1, "this prints '\\udc80', which is no text"),
    "closed": ("import sys\nsys.stdout.close()", 2, "a block must not close sys.stdout"),
    "cleared": ("x = 1\nglobals().clear()\ny = 1", 2, "a block must not clear the names of its page"),
    "thread": (
        "import threading\n\ndef f():\n    1 / 0\n\nt = threading.Thread(target=f)\nt.start()\nt.join()",
        4,
        "ZeroDivisionError: division by zero (in a thread)",
    ),
    "address": ("class A:\n    pass\nprint(A())", 3, "this prints an address in memory"),
    "root": ("from pathlib import Path\nprint(Path.cwd())", 2, "this prints the folder of the project"),
    "package": ("import markdown\nprint(markdown.__file__)", 2, "this prints the folder of the packages"),
    "temporary": ("import tempfile\nprint(tempfile.mkdtemp())", 2, "this prints a temporary file"),
    "home": ("from pathlib import Path\nprint(Path.home() / 'x')", 2, "this prints your home"),
}

# What a block leaves behind: its code, the line that is named, and what is said to be changed.
LEFT = {
    "environment": ("import os\nos.environ['LEFT_BEHIND'] = '1'", 2, "os.environ LEFT_BEHIND"),
    "removed": ("import os\ndel os.environ['PATH']\nx = 1", 2, "os.environ PATH"),
    "folder": ("import os, tempfile\nos.chdir(tempfile.gettempdir())", 2, "the working directory"),
    "path": ("import sys\nsys.path.insert(0, 'x')", 2, "sys.path"),
    "config": ("import jax\njax.config.update('jax_enable_x64', True)", 2, "jax.config jax_enable_x64"),
    "patched": ("import json\njson.dumps = str", 2, "json.dumps"),
    "builtin": ("import builtins\nbuiltins.left_behind = 1", 2, "builtins.left_behind"),
    "warnings": ("import warnings\nwarnings.simplefilter('ignore')", 2, "warnings"),
    "logging": ("import logging\nlogging.getLogger('mkdocs').setLevel(50)", 2, "the level of logger mkdocs"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_forbidden_actions_of_a_block_are_rejected(site: Site, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(site.root)
    code, line, message = REFUSED[name]
    site.write({"docs/a.md": f"# A\n\n{BLOCK}\n{code}\n```\n"})
    _, failures = site.render("a")
    expected = f"docs/a.md:{3 + line}: {message}"
    assert [str(failure)[: len(expected)] for failure in failures] == [expected]
    assert sorted(path.name for path in (site.root / "docs").iterdir()) == ["a.md", "index.md"]


@pytest.mark.parametrize("name", LEFT)
def test_leftover_changes_of_a_page_are_reported_and_undone(site: Site, name: str) -> None:
    import jax

    def take() -> list[object]:
        x64 = jax.config.jax_enable_x64  # type: ignore[attr-defined]  # made when JAX is imported
        return [dict(os.environ), os.getcwd(), sys.path[:], x64, json.dumps, list(warnings.filters)]  # noqa: PTH109 - as is

    code, line, what = LEFT[name]
    before, level = take(), logging.getLogger("mkdocs").level
    # A second block, since a page may leave something to its own blocks.
    site.write({"docs/a.md": f"# A\n\n{BLOCK}\n{code}\n```\n\n{BLOCK}\nx = 2\n```\n"})
    _, failures = site.render("a")
    expected = f"docs/a.md:{3 + line}: this page leaves {what} changed for the pages after it: put it back where it was"
    assert list(map(str, failures)) == [expected]
    assert (take(), logging.getLogger("mkdocs").level) == (before, level)
    assert "left_behind" not in dir(__builtins__)


def test_restored_and_cached_state_is_not_reported(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(site.root)
    monkeypatch.setenv("XLA_INSPECT_CACHE", str(site.root / "captures"))
    code = """
        import os, subprocess, sys, tempfile
        from pathlib import Path
        from unittest import mock

        import own

        with mock.patch.dict(os.environ, X="1"), mock.patch("json.dumps"):
            pass
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "x").mkdir()
            (Path(folder) / "x" / "y").write_text("z")
        Path(".cache").mkdir(exist_ok=True)
        Path(".cache/x").write_text("z")
        Path("captures").mkdir()
        Path("captures/x").write_text("z")
        print(subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True, text=True).stdout)
        """
    page = f"# A\n\n{BLOCK}\n" + "\n".join(line[8:] for line in code.split("\n")) + "```\n"
    site.write({"docs/a.md": page, "snippets/own.py": "x = 1\n"})
    assert site.render("a")[1] == []


def test_an_interrupt_names_the_line_that_runs(site: Site) -> None:
    timer = "threading.Timer(1, _thread.interrupt_main).start()"
    lines = ["import _thread, threading, time", timer, "while True:", "    time.sleep(0.01)"]
    site.write({"docs/a.md": f"# A\n\n{BLOCK}\n" + "\n".join(lines) + "\n```\n"})
    code = (
        "from pathlib import Path; from livepage.render_one import render_page as f; f(Path('docs/a.md'), Path.cwd())"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=site.root, capture_output=True, text=True, check=False)
    assert [line for line in result.stderr.splitlines() if "docs/a.md:7: interrupted while this line ran" in line] != []
