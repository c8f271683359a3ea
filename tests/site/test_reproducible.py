"""Reproducible builds: a build in a fresh clone gives the same bytes, without traces of the machine."""

from __future__ import annotations

import filecmp
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests import turns
from tests.turns import ask_git

from livepage.keep import page_store
from maintaining.pyodide_bundle import PYODIDE

pytestmark = pytest.mark.long("the whole site is built a second time")

AWKWARD = "ein Ordner - \u00fc & 'q' \"z\""
ON_ONE_CORE = """
import os, runpy, sys
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
sys.argv = ["mkdocs", "build", "--strict", "--quiet"]
runpy.run_module("mkdocs", run_name="__main__")
"""

EXPLORERS = ".cache/explorer"
"""The folder with the data of the explorers, which pages load."""

NOWHERE = ("docs/glossary.md", "docs/next.md")
"""Pages that most changes do not cause to run again."""

EVERYWHERE = ("docs/fusion.md", "docs/ledger.md", "docs/pipeline.md", "docs/practice/hlo.py", "docs/what-changed.md")
"""Pages of several kinds, which run again after each change of a dependency of all pages."""

type Reached = tuple[tuple[str, ...], tuple[str, ...]]
"""Pages that have to run again after a change, and pages that need not."""


def edit(file: str, old: str, new: str) -> dict[str, str]:
    return {"file": file, "old": old, "new": new}


def make(file: str) -> dict[str, str]:
    return {"file": file, "made": "{}\n"}


PLANTED: list[tuple[str, dict[str, str], Reached]] = [
    ("nothing", {}, ((), (*EVERYWHERE, *NOWHERE))),
    ("prose", edit("docs/fusion.md", "\n# ", "\n\nA sentence.\n\n# "), ((), (*EVERYWHERE, *NOWHERE))),
    ("a block", edit("docs/fusion.md", 'exec="on"\n', 'exec="on"\nplanted = 1\n'), (("docs/fusion.md",), NOWHERE)),
    ("a value", edit("docs/pipeline.md", "`= ", "`= not "), (("docs/pipeline.md",), NOWHERE)),
    ("a check", edit("docs/buffers.md", 'check="', 'check="Planted: '), (("docs/buffers.md",), NOWHERE)),
    (
        "a cell",
        edit("docs/practice/hlo.py", "\nimport ", "\nimport re\nimport "),
        (("docs/practice/hlo.py",), NOWHERE),
    ),
    (
        "a program",
        edit("snippets/programs/product.py", "import jax\n", "import jax as jax\n"),
        (("docs/fusion.md", "docs/layout.md", "docs/when-xla-helps.md"), ("docs/jaxpr.md", *NOWHERE)),
    ),
    (
        "the code of one page",
        edit("snippets/pages/fusion_page.py", '"""', '""" '),
        (("docs/fusion.md",), ("docs/jaxpr.md", "docs/pipeline.md", *NOWHERE)),
    ),
    (
        "a picture",
        edit("snippets/chapters/exchange_picture.py", '"""', '""" '),
        (("docs/sharding.md", "docs/stablehlo.md"), NOWHERE),
    ),
    ("a rule of the ledger", edit("snippets/claims/fusion.py", '"""', '""" '), (("docs/ledger.md",), NOWHERE)),
    ("the package", edit("snippets/xla_inspect/hlo/parser.py", '"""', '""" '), (EVERYWHERE, ())),
    ("the targets", edit("snippets/xla_inspect/targets/table.toml", "# The", "# These"), (EVERYWHERE, ())),
    ("a device", edit("snippets/xla_inspect/targets/gpu_specs/h100.txtpb", "\n", "\n\n"), (EVERYWHERE, ())),
    (
        "a measurement",
        edit("docs/data/speed.json", "{", "{ "),
        (("docs/when-xla-helps.md",), ("docs/fusion.md", *NOWHERE)),
    ),
    ("a claim", edit("docs/data/claims.toml", "\n", "\n\n"), (("docs/ledger.md",), ("docs/fusion.md", *NOWHERE))),
    (
        "a record of another compiler",
        edit("snippets/peers/tvm/record.json", "{", "{ "),
        (("docs/peers.md",), ("docs/fusion.md", *NOWHERE)),
    ),
    (
        "a release that was measured",
        make("docs/data/drift/0.13.0.json"),
        (("docs/what-changed.md",), ("docs/fusion.md", *NOWHERE)),
    ),
    (
        "times that were measured",
        make("docs/data/kernel-times.json"),
        (("docs/fusion.md", "docs/pipeline.md"), NOWHERE),
    ),
    ("a pin", edit("pyproject.toml", '"tvm', '"tvm '), (("docs/build.md", "docs/peers.md"), ("docs/fusion.md",))),
    ("an exercise", edit("snippets/practice/hlo/donate.py", '"""', '""" '), (("docs/practice/hlo.py",), NOWHERE)),
    (
        "a solution",
        edit("snippets/practice/solutions/hlo/donate.py", "import", "import re\nimport"),
        (("docs/practice/hlo.py",), NOWHERE),
    ),
    ("what runs pages", edit("scripts/livepage/run/asserts.py", '"""', '""" '), (EVERYWHERE, ())),
    ("a package of others", {"package": "jaxlib"}, (EVERYWHERE, ())),
]
VARIABLES = {
    "XLA_FLAGS": "--xla_cpu_enable_fast_math=true",
    "LIBTPU_INIT_ARGS": "--xla_tpu_enable_latency_hiding_scheduler=false",
    "JAX_ENABLE_X64": "1",
    "JAX_DEFAULT_MATMUL_PRECISION": "highest",
}


@pytest.fixture(scope="module")
def clone(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone's site: one core, other hash seed, time zone and locale, and a name that needs quotes.

    The clone starts with the stored results of this clone, except for the pages whose turn it is and an eighth of the
    captures; with EVERY_PAGE=1, as every night, it starts with nothing.
    """
    folder = tmp_path_factory.mktemp("clone") / AWKWARD
    ask_git(root, "clone", "--quiet", "--no-hardlinks", str(root), str(folder))
    # With what was not committed yet, as the build of the project had it.
    for name in ask_git(root, "ls-files", "--modified", "--deleted", "--others", "--exclude-standard"):
        (folder / name).unlink(missing_ok=True)
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, folder / name)
    if PYODIDE.is_made():  # by scripts/test, before it builds; no build makes it
        shutil.copytree(PYODIDE.place, folder / PYODIDE.place.relative_to(root))
    if not os.environ.get("EVERY_PAGE"):
        copy_captures(root, folder / "cache")
        copy_pages(root, folder)
    build = run_in(folder, "-c", ON_ONE_CORE)
    assert build.returncode == 0, build.stderr
    return folder / "site"


def copy_captures(root: Path, folder: Path) -> None:
    """Copy the stored captures into an empty cache, except for an eighth of them that the commit chooses."""
    folder.mkdir()
    last_digit = int(ask_git(root, "rev-parse", "HEAD")[0][-1], 16)
    left_out = {f"{digit:x}" for digit in (last_digit, last_digit ^ 1)}
    for path in Path(os.environ.get("XLA_INSPECT_CACHE") or root / ".cache" / "xla_inspect").glob("*.gz"):
        # Another process may remove a capture that was not used for long.
        if path.name[0] not in left_out:
            with suppress(FileNotFoundError):
                shutil.copyfile(path, folder / path.name)


def copy_pages(root: Path, folder: Path) -> None:
    """Copy the stored results of all pages and notebooks but those whose turn it is, and the data of explorers."""
    copy = folder / page_store.FILE
    copy.parent.mkdir(parents=True)
    pages = sorted(path for path in (root / "docs").rglob("*") if path.suffix in {".md", ".py"})
    with closing(sqlite3.connect(root / page_store.FILE)) as stored, closing(sqlite3.connect(copy)) as database:
        stored.backup(database)
        in_turn = [(page.relative_to(root).as_posix(),) for page in turns.choose(pages)]
        with database:
            database.executemany("DELETE FROM entries WHERE name = ?", in_turn)
    # The stored pages name these files, each by a hash of its content.
    shutil.copytree(root / EXPLORERS, folder / EXPLORERS)


def run_in(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the clone, as on another machine, and with other variables of the environment."""
    apart = {"SOURCE_DATE_EPOCH", "LIVE", "LIVEPAGE_BUILD"}
    environment = {name: value for name, value in os.environ.items() if name not in apart} | {
        "PYTHONPATH": os.pathsep.join([str(folder / "snippets"), str(folder / "scripts")]),
        "PYTHONHASHSEED": "1",
        "XLA_INSPECT_CACHE": str(folder / "cache"),
        "TZ": "Asia/Tokyo",
        "LC_ALL": "de_DE.UTF-8",
        **{name: value for name, value in more.items() if name != "input"},
    }
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, input=more.get("input"), capture_output=True,
        text=True, check=False,
    )  # fmt: skip


def list_files(site: Path) -> set[str]:
    return {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}


def compare(one: Path, other: Path) -> list[str]:
    """Return the names of files that only one of two sites has, or that have different bytes."""
    both = list_files(one) & list_files(other)
    differ = {name for name in both if not filecmp.cmp(one / name, other / name, shallow=False)}
    return sorted(differ | (list_files(one) ^ list_files(other)))


def test_two_builds_are_the_same_byte_for_byte(built_site: Path, clone: Path) -> None:
    output_files = {"pipeline/index.html", "pipeline/index.md", "sitemap.xml", "llms.txt", "search/search_index.json"}
    assert output_files <= list_files(built_site)
    assert compare(built_site, clone) == []


def test_stored_pages_equal_a_new_run(built_site: Path, clone: Path) -> None:
    differences = compare(built_site, clone)
    again = run_in(clone.parent, "-m", "mkdocs", "build", "--strict")
    assert (differences, again.returncode, "(0 run)" in again.stderr) == ([], 0, True), again.stderr
    assert compare(built_site, clone) == []


@pytest.fixture(scope="module")
def stale(clone: Path) -> list[list[str]]:
    """The pages that would run again after each of `PLANTED`, in the same order."""
    lines = "".join(json.dumps(change) + "\n" for _, change, _ in PLANTED)
    result = run_in(clone.parent, str(Path(__file__).with_name("stale_pages.py")), input=lines)
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("number", range(len(PLANTED)), ids=[name for name, _, _ in PLANTED])
def test_a_planted_change_lets_the_pages_run_that_it_reaches(stale: list[list[str]], number: int) -> None:
    _, _, (reached, spared) = PLANTED[number]
    stale_set = {*stale[number]}
    assert ({*reached} - stale_set, {*spared} & stale_set) == (set(), set())


@pytest.mark.parametrize("variable", VARIABLES)
def test_a_variable_that_compilers_read_lets_every_page_run(clone: Path, variable: str) -> None:
    result = run_in(
        clone.parent, str(Path(__file__).with_name("stale_pages.py")), input="{}\n", **{variable: VARIABLES[variable]}
    )
    assert {*EVERYWHERE} - {*json.loads(result.stdout)} == set(), result.stderr


def test_dates_and_names_are_those_of_the_commit(built_site: Path, root: Path) -> None:
    """In a time zone other than UTC, git prints other dates."""
    [name, seconds] = ask_git(root, "log", "-1", "--format=%h %ct", "--abbrev=12")[0].split()
    release_date = datetime.fromtimestamp(int(seconds), UTC)
    assert f"{name} of {release_date:%Y-%m-%d %H:%M} UTC" in (built_site / "build" / "index.md").read_text(
        encoding="utf-8"
    )
    dates = set(re.findall(r"<lastmod>(.*?)</lastmod>", (built_site / "sitemap.xml").read_text(encoding="utf-8")))
    assert dates == {f"{release_date:%Y-%m-%d}"}


def test_the_site_holds_no_path_of_the_machine_that_built_it(built_site: Path, clone: Path, root: Path) -> None:
    folders = [str(clone.parent), str(root), f"{Path.home()}/", str(sys.prefix)]
    # Python for a browser, which others built and a hash holds, names a folder of theirs.
    files = [path for site in (built_site, clone) for path in site.rglob("*") if path.is_file()]
    files = [path for path in files if not path.parent.name.startswith("pyodide-")]
    contents = ((path.name, path.read_bytes()) for path in files)
    assert [(name, folder) for name, content in contents for folder in folders if folder.encode() in content] == []


@pytest.mark.usefixtures("all_targets")
def test_the_compilers_text_is_on_the_pages_and_not_in_their_source(built_site: Path, root: Path) -> None:
    marks = ["is_tma_allowed", "cross_program_prefetch_index"]
    page = (built_site / "pipeline" / "index.html").read_text(encoding="utf-8")
    page_text = "".join(path.read_text(encoding="utf-8") for path in (root / "docs").rglob("*.md"))
    assert [(mark, mark in page, mark in page_text) for mark in marks] == [(mark, True, False) for mark in marks]
