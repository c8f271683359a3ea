"""Reuse of stored pages: a page runs again if any of its inputs changed, and only then."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from livepage.keep import common_key, page_store
from livepage.read import project

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Site

PROJECT = Path(__file__).resolve().parents[3]
# Reads one thing of each kind.
PAGE = """
    # A

    Prose.

    --8<-- "part.md"

    ```python exec="on"
    import importlib
    import json
    import os
    import subprocess
    import sys
    from pathlib import Path

    import plain
    from room import inner

    named = importlib.import_module("dynamic")
    data = json.loads(Path("docs/data/numbers.json").read_text())
    with open(b"pyproject.toml") as file:
        pins = file.read()
    asked = [Path("docs/asked.txt").is_file(), os.path.exists("docs/gone.txt")]
    listed = sorted(os.fsdecode(name) for name in os.listdir(b"docs/data"))
    ask = [sys.executable, "-c", "import child; print(child.NAME)"]
    handed = os.environ.copy()
    told = subprocess.run(ask, env={**handed, "MORE": handed.get("ASKED", "")}, capture_output=True, text=True)
    print(plain.NAME, inner.NAME, named.NAME, plain.SPEC, data, pins, asked, listed)
    print(told.stdout, os.environ.get("CHOICE"))
    print(importlib.import_module("late").read())
    ```

    A value `= plain.NAME`.

    ```python check="Something holds"
    assert len(plain.NAME) > 1, "it is"
    ```
    """
FILES = {
    "docs/a.md": PAGE,
    "docs/data/numbers.json": "[1]",
    "docs/gone.txt": "",
    "part.md": "Included.\n",
    "pyproject.toml": "one==1\n",
    "snippets/plain.py": """
        from pathlib import Path

        NAME = "plain"
        SPEC = Path(__file__).with_name("spec.txt").read_text()
        """,
    "snippets/spec.txt": "spec\n",
    "snippets/room/__init__.py": "",
    "snippets/room/inner.py": "from other import NAME\n",
    "snippets/other.py": "NAME = 'other'\n",
    "snippets/dynamic.py": "NAME = 'dynamic'\n",
    "snippets/child.py": "NAME = 'child'\n",
    "snippets/late.py": """
        from functools import cache
        from pathlib import Path

        @cache
        def read():
            return Path("docs/data/late.txt").read_text()
        """,
    "docs/data/late.txt": "late\n",
}


class Builds:
    """Builds of one site, each in its own process, which report whether the page ran."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def run(self, **environment: str) -> str:
        """Build the site in a new process, and return the log line with the numbers of pages, such as `(1 run)`."""
        folders = [str(self.site.root / "snippets"), str(PROJECT / "snippets"), str(PROJECT / "scripts")]
        result = subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--strict"],
            cwd=self.site.root,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(folders)} | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        return next(line for line in result.stderr.splitlines() if " pages (" in line)

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace a text in a file of the site, as an editor does a while later."""
        path = self.site.root / name
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        later = path.stat().st_mtime_ns + 5_000_000_000
        os.utime(path, ns=(later, later))


@pytest.fixture(scope="module")
def builds(shared_site: Site) -> Builds:
    """A site that was built once."""
    shared_site.write(FILES)
    builds = Builds(shared_site)
    assert "(1 run)" in builds.run()
    return builds


@pytest.fixture
def copy(builds: Builds, tmp_path: Path, make_site: Callable[[Path], Site]) -> Builds:
    """A copy of the built site for edits; stored results do not depend on the folder's name."""
    shutil.copytree(builds.site.root, tmp_path / "copy", copy_function=shutil.copy2)
    site = make_site(tmp_path / "copy")
    return Builds(site)


@pytest.mark.long(
    "otherwise a text, a module and a file stand for all inputs",
    but=[
        "docs/a.md-`= plain.NAME`-`= plain.SPEC`",
        "docs/data/numbers.json-[1]-[2]",
        'snippets/plain.py-"plain"-"plane"',
    ],
)
@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("docs/a.md", "sorted(os.fsdecode(name)", "sorted(os.fsdecode(name[:1])"),
        ("docs/a.md", "`= plain.NAME`", "`= plain.SPEC`"),
        ("docs/a.md", "len(plain.NAME) > 1", "len(plain.NAME) > 2"),
        ("docs/data/numbers.json", "[1]", "[2]"),
        ("docs/data/late.txt", "late", "LATE"),
        ("pyproject.toml", "one==1", "one==2"),
        ("snippets/plain.py", '"plain"', '"plane"'),
        ("snippets/spec.txt", "spec", "SPEC"),
        ("snippets/room/__init__.py", "", "X = 1\n"),
        ("snippets/room/inner.py", "from other import NAME", "from other import NAME as NAME"),
        ("snippets/other.py", "'other'", "'outer'"),
        ("snippets/dynamic.py", "'dynamic'", "'DYNAMIC'"),
        ("snippets/child.py", "'child'", "'CHILD'"),
    ],
    ids=lambda value: value.strip() or "nothing",
)
def test_a_change_of_any_input_of_a_page_runs_it_again(copy: Builds, name: str, old: str, new: str) -> None:
    copy.edit(name, old, new)
    assert "(1 run)" in copy.run()
    assert "(0 run)" in copy.run()


@pytest.mark.parametrize("name", ["docs/asked.txt", "docs/gone.txt"])
def test_adding_or_removing_a_requested_file_runs_the_page_again(copy: Builds, name: str) -> None:
    path = copy.site.root / name
    path.unlink() if path.exists() else path.touch()
    assert "(1 run)" in copy.run()
    assert "(0 run)" in copy.run()


def test_a_new_file_in_a_listed_folder_runs_the_page_again(copy: Builds) -> None:
    (copy.site.root / "docs/data/more.json").write_text("[]", encoding="utf-8")
    assert "(1 run)" in copy.run()


@pytest.mark.long("otherwise a text, a module and a file stand for all inputs", but=["XLA_FLAGS"])
@pytest.mark.parametrize("variable", ["CHOICE", "ASKED", "XLA_FLAGS", "JAX_ENABLE_X64"])
def test_a_variable_read_by_a_page_or_compiler_runs_it_again(copy: Builds, variable: str) -> None:
    value = {"XLA_FLAGS": "--xla_cpu_enable_fast_math=false"}.get(variable, "1")
    assert "(1 run)" in copy.run(**{variable: value})
    assert "(0 run)" in copy.run(**{variable: value})
    assert "(0 run)" in copy.run()


def test_a_variable_that_is_only_passed_on_runs_no_page(copy: Builds) -> None:
    assert "(0 run)" in copy.run(HANDED="on")


@pytest.mark.parametrize("name", ["docs/a.md", "part.md", "snippets/unread.py", "docs/other.txt"])
def test_prose_and_unread_files_run_no_page(copy: Builds, name: str) -> None:
    path = copy.site.root / name
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(old.replace("Prose", "Poetry").replace("Included", "Concluded") or "X = 1\n", encoding="utf-8")
    assert "(0 run)" in copy.run()
    page = (copy.site.root / "site/a/index.html").read_text(encoding="utf-8")
    assert ("Poetry" in page, "Concluded" in page) == (name == "docs/a.md", name == "part.md")


def test_everything_runs_on_request(copy: Builds) -> None:
    assert "(1 run)" in copy.run(LIVE="all")
    assert "(1 run)" in copy.run(LIVE="all")
    assert "(0 run)" in copy.run()


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("import time; print(time.time() > 0)", "the clock"),
        ("import datetime; print(datetime.datetime.now().year > 0)", "the clock"),
        ("import ticking", "the clock"),
        (
            "import socket\ntry:\n    socket.getaddrinfo('nowhere.invalid', 80)\nexcept OSError:\n    print('none')",
            "the network",
        ),
        ("print(open({outside!r}).read())", "the file outside.txt, which lies outside the project"),
    ],
)
def test_a_page_with_unstable_inputs_is_not_stored(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, what: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (elsewhere / "outside.txt").write_text("outside", encoding="utf-8")
    block = code.replace("{outside!r}", repr(str(elsewhere / "outside.txt")))
    site.write(
        {
            "docs/a.md": f'# A\n\n```python exec="on"\n{block}\n```\n',
            "snippets/ticking.py": "import time\n\nprint(time.monotonic() > 0)\n",
        }
    )
    assert site.build() == []
    assert [line for line in site.log if "not kept" in line] == [f"docs/a.md is not kept: it read {what}"]
    assert not page_store.seems_kept("docs/a.md")


def test_a_page_that_passes_on_the_environment_is_stored(copy: Builds) -> None:
    copy.edit("docs/a.md", "env={**handed,", "env={**os.environ,")
    assert "(1 run)" in copy.run()
    assert "(0 run)" in copy.run()
    assert "(1 run)" in copy.run(CHOICE="another")


@pytest.mark.parametrize("edited", ["read/__init__.py", "keep/__init__.py", "keep/inner/name.py"])
def test_a_page_depends_on_each_file_of_the_engine_also_where_names_are_alike(
    edited: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(common_key, "_PACKAGE", tmp_path)
    for name in ("read/__init__.py", "keep/__init__.py", "keep/inner/name.py", "keep/name.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("before", encoding="utf-8")
    before = common_key.hash_common("read", "keep")
    (tmp_path / edited).write_text("after it", encoding="utf-8")
    assert common_key.hash_common("read", "keep") != before


def test_a_stored_page_is_invalid_after_a_change_of_the_machines_settings(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.write({"docs/a.md": '# A\n\n```python exec="on"\nprint(1)\n```\n'})
    assert site.build() == []
    assert page_store.seems_kept("docs/a.md")
    monkeypatch.setattr(type(project.adapter), "describe_machine", lambda _: "another machine")
    assert not page_store.seems_kept("docs/a.md")


def test_a_page_leaves_the_process_unchanged(site: Site) -> None:
    before = os.stat, type(os.environ)
    asking = "import os\nprint(os.stat.__name__, type(os.environ).__name__)"
    site.write({"docs/a.md": f'# A\n\n```python exec="on"\n{asking}\n```\n'})
    pages, failures = site.render("a")
    assert failures == []
    assert "and_stat" in pages  # while it runs, both tell who asks
    assert (os.stat, type(os.environ)) == before
