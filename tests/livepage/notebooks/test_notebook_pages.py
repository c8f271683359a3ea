"""Notebooks become checked pages, which are stored until one of their inputs changes."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from livepage.keep import page_store

if TYPE_CHECKING:
    from conftest import Site

BADGE = Path(__file__).resolve().parents[3] / "docs/assets/open-in-colab.svg"
LAB = """
    # %% [markdown]
    # ---
    # description: A notebook.
    # minutes: 15
    # ---
    # # Lab
    #
    # See [home](index.md), and [the other one](other.py#there).

    # %% output="hlo"
    import parts

    print(parts.TEXT)

    # %% [markdown] fold="First hint"
    # Look *closer*.

    # %% output="mlir"
    import sys

    print("one", end=" ")
    sys.stdout.flush()
    print("two")
    6 * 7
    """
MLIR = re.compile(r'<div class="language-mlir highlight"><pre><span></span><code>(.*?)</code>', re.DOTALL)
TAG = re.compile(r"<[^>]*>")
OTHER = "# %% [markdown]\n# # Other\n#\n# ## There { #there }\n"
RAISING = "# %% [markdown]\n# # Lab\n\n# %%\nx = 1\n\n# %%\ndef f():\n    raise ValueError('boom')\n\nf()\n"
LINKING = "# %% [markdown]\n# # Lab\n#\n# [x](missing.md) and\n# [y](index.md#no)\n"
LEAVING = "# %% [markdown]\n# # Lab\n\n# %%\nimport os\nos._exit(1)\n"


@pytest.fixture
def lab(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A site with two notebooks, one of which imports a module of its own."""
    monkeypatch.setenv("PYTHONPATH", str(site.root / "snippets"))
    site.write({"docs/lab.py": LAB, "docs/other.py": OTHER, "snippets/parts.py": "TEXT = '<b> -> c'\n"})
    (site.root / "docs/assets").mkdir()
    shutil.copy(BADGE, site.root / "docs/assets")
    return site


def list_kept(site: Site, name: str = "docs/lab.py") -> list[str]:
    """Return the inputs of the stored results of a notebook, one text for each result."""
    with closing(sqlite3.connect(site.root / page_store.FILE)) as database:
        return sorted(
            row[0]
            for row in database.execute("SELECT inputs FROM entries WHERE kind = 'notebooks' AND name = ?", [name])
        )


@pytest.mark.long("notebooks run again in processes of their own")
def test_a_notebook_is_a_page_and_runs_again_only_when_it_must(lab: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is coloured and linked as a page is; the stored page is the same; a save of another file does not run it."""
    startup = lab.root / "profile_default/startup/first.py"
    startup.parent.mkdir(parents=True)
    startup.write_text("raise SystemExit\n", encoding="utf-8")
    monkeypatch.setenv("IPYTHONDIR", str(lab.root))  # a reader's own settings, which would end each notebook
    assert lab.build() == []
    page, stored_files = lab.html("lab"), list_kept(lab)
    assert '<a href="../">home</a>' in page
    assert '<a href="../other/#there">the other one</a>' in page
    assert "15 minutes" in page
    assert 'class="language-hlo' in page
    assert "&lt;b&gt; -&gt; c" in page
    assert "<summary>First hint</summary>" in page
    assert "Look <em>closer</em>" in page
    mlir_texts = [TAG.sub("", text).strip() for text in MLIR.findall(page)]
    assert mlir_texts == ["one two", "42"]  # however often it was flushed
    assert [word for word in ("jp-", "<style", "<script", "cell-id", "colab") if word in page] == []
    notebook = (lab.root / "site/lab.ipynb").read_text(encoding="utf-8")
    assert "git clone" not in notebook
    assert "See home, and the other one." in notebook

    lab.write({"docs/index.md": "# Home\n\nNew.\n", "snippets/unused.py": "X = 1\n"})
    assert lab.build(serve=True) == []
    assert (lab.html("lab"), list_kept(lab)) == (page, stored_files)

    lab.write({"snippets/parts.py": "TEXT = 'newer'\n"})
    assert lab.build(serve=True) == []
    assert len(list_kept(lab)) == 2
    assert "newer" in lab.html("lab")


def test_a_downloaded_notebook_runs_elsewhere(lab: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is opened from the repository that the configuration names, and its links lead to the site."""
    monkeypatch.setenv("REPO_URL", "https://github.com/someone/project")
    monkeypatch.setenv("SITE_URL", "https://example.org/xla/")
    assert lab.build() == []
    page = lab.html("lab")
    assert "https://colab.research.google.com/github/someone/project/blob/gh-pages/lab.ipynb" in page
    assert 'src="../assets/open-in-colab.svg"' in page
    assert '<a download="lab.ipynb" href="../lab.ipynb">' in page
    notebook = json.loads((lab.root / "site/lab.ipynb").read_text(encoding="utf-8"))
    sources = ["".join(cell["source"]) for cell in notebook["cells"]]
    assert sources[0] == "# Lab"
    assert "git clone --quiet --depth 1 https://github.com/someone/project" in sources[1]
    assert sources[2] == (
        "See [home](https://example.org/xla/), and [the other one](https://example.org/xla/other/#there)."
    )
    assert sources[4] == "<details><summary>First hint</summary>\n\nLook *closer*.\n\n</details>"
    assert len({cell["id"] for cell in notebook["cells"]}) == len(sources)
    assert [cell.get("outputs", []) for cell in notebook["cells"]] == [[]] * len(sources)


def test_a_notebook_fails_by_file_and_line(site: Site) -> None:
    """An error in a cell, the end of its process, a dead link and a dead anchor are reported at their lines."""
    site.write({"docs/raising.py": RAISING, "docs/linking.py": LINKING, "docs/leaving.py": LEAVING})
    warnings = sorted(site.build())
    assert [warning.partition(": ")[0] for warning in warnings] == [
        "docs/leaving.py:1", "docs/linking.py:4", "docs/linking.py:5", "docs/raising.py:9",
    ]  # fmt: skip
    assert "DeadKernelError" in warnings[0]
    assert warnings[3] == "docs/raising.py:9: ValueError: boom"
    assert "did not run" in site.html("raising")
    assert "Traceback" not in site.html("raising")
    assert list_kept(site, "docs/raising.py") == []


# As a process ends whose ports another has taken meanwhile.
STILLBORN = """
    import os
    import pathlib
    import sys

    starts = pathlib.Path(__file__).with_name("starts")
    if "ipykernel_launcher" in sys.orig_argv:
        with starts.open("a") as file:
            file.write("x")
        if starts.stat().st_size < {lives}:
            os._exit(1)
    """


@pytest.mark.long("notebooks run again in processes of their own")
@pytest.mark.parametrize(("lives", "warned"), [(3, []), (4, ["docs/lab.py:1: RuntimeError: Kernel died"])])
def test_a_process_that_ends_before_the_first_cell_is_started_again(lab: Site, lives: int, warned: list[str]) -> None:
    lab.write({"snippets/sitecustomize.py": STILLBORN.format(lives=lives)})
    (lab.root / "docs/other.py").unlink()
    lab.write({"docs/lab.py": "# %% [markdown]\n# # Lab\n\n# %%\nprint(6 * 7)\n"})
    assert [warning[: len(warned[0])] if warned else warning for warning in lab.build()] == warned
    assert (lab.root / "snippets/starts").read_text(encoding="utf-8") == "xxx"


def test_an_unreadable_mark_is_reported(site: Site) -> None:
    site.write({"docs/lab.py": "# %% [markdown]\n# # Lab\n\n# %% {fold}\n1\n"})
    (problem,) = site.build()
    assert problem.startswith("docs/lab.py:4: this begins no cell: write `# %%`")


CHECKS = """
    # %% [markdown]
    # # Lab

    # %%
    kernels = {"cpu": 5, "h100": 1}

    # %% check="They agree."
    for target in kernels:
        assert kernels[target] == 5
    """
EMPTY = """
    # %% [markdown]
    # # Lab

    # %% check="All of them do."
    found = []
    assert all(kernel for kernel in found)
    """
NOTHING = "this assert looked at nothing: what its `all` or `any` walks through is empty"
NONE = '# %% [markdown]\n# # Lab\n\n# %% check="It is so."\nx = 1\n'


@pytest.mark.usefixtures("all_targets")  # as in test_checks
def test_a_check_of_a_notebook_fails_like_one_of_a_page(site: Site) -> None:
    """The failure has its line, the compared values and those of the loop; a check without an assert fails too."""
    site.write({"docs/checks.py": CHECKS, "docs/empty.py": EMPTY, "docs/none.py": NONE})
    assert sorted(site.build()) == [
        "docs/checks.py:9: AssertionError: left was 1, right was 5, target was 'h100'",
        f"docs/empty.py:6: AssertionError: {NOTHING}",
        "docs/none.py:5: this check asserts nothing",
    ]  # fmt: skip


@pytest.mark.long("notebooks run again in processes of their own")
def test_a_store_that_is_damaged_is_made_again(lab: Site) -> None:
    """A truncated store, and one of garbage, is reported in one line and made again."""
    assert lab.build() == []
    page, store = lab.html("lab"), lab.root / page_store.FILE
    for damaged in (store.read_bytes()[:90], b"\xff\xfe" * 300):
        store.write_bytes(damaged)
        assert lab.build() == []
        assert (lab.html("lab"), lab.log.count(f"{page_store.FILE} is damaged: it is made again")) == (page, 1)
    assert lab.build() == []
    assert [line for line in lab.log if "made again" in line] == []
