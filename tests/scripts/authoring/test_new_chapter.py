"""`scripts/new-chapter` creates a chapter that passes its checks, or explains why it cannot."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import yaml

from authoring import new_chapter
from common import ROOT

if TYPE_CHECKING:
    from pathlib import Path

USED = ("snippets", "scripts", "docs", "tests", "mkdocs.yml", "pyproject.toml", "README.md")
SECTION = "Use it well"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The files that planning a chapter reads."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "snippets" / "programs").mkdir(parents=True)
    for name in ("docs/fusion.md", "snippets/programs/softmax.py", "mkdocs.yml"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def list_files(folder: Path) -> dict[str, bytes]:
    """Return the content of every file of a folder, by its path in the folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("title", "slug", "name"),
    [
        ("Reduced precision", "reduced-precision", "reduced_precision"),
        ("  What's   next on an H100? ", "whats-next-on-an-h100", "whats_next_on_an_h100"),
        ("Top-k, and sort (stable)", "top-k-and-sort-stable", "top_k_and_sort_stable"),
    ],
)
def test_a_title_gives_the_names_of_the_files(title: str, slug: str, name: str) -> None:
    draft = new_chapter.draft_chapter(title)
    assert (draft.title, draft.slug, draft.name) == (" ".join(title.split()), slug, name)


@pytest.mark.parametrize(
    ("title", "message"),
    [
        ("", "the title is empty"),
        ("   ", "the title is empty"),
        ("Ops: a list", "holds ':'; use the letters"),
        ("`jit`", "holds '`'; use the letters"),
        ("../escape", "holds '.' '/'; use the letters"),
        ("Pr\u00e9cision", "holds '\u00e9'; use the letters"),
        ("x" * 61, "has 61 letters and the navigation room for 60"),
        ("2D convolutions", "gives the program the name '2d_convolutions'"),
        ("While", "gives the program the name 'while'"),
        ("???", "gives the program the name ''"),
    ],
)
def test_a_title_that_cannot_be_one_is_refused_with_what_to_do(title: str, message: str) -> None:
    with pytest.raises(new_chapter.ChapterError) as caught:
        new_chapter.draft_chapter(title)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("title", "message"),
    [
        ("Fusion", "the navigation has Fusion already, docs/fusion.md"),
        ("the PIPELINE", "the navigation has The pipeline already, docs/pipeline.md"),
        ("(Fusion)", "docs/fusion.md is there already"),
        ("Softmax", "snippets/programs/softmax.py is there already"),
        ("The best 10", "the title breaks a rule for prose: docs/the-best-10.md:5: the number '10' is typed"),
    ],
)
def test_a_title_that_clashes_or_breaks_a_rule_is_refused_and_nothing_is_written(
    project: Path, title: str, message: str
) -> None:
    before = list_files(project)
    with pytest.raises(new_chapter.ChapterError) as caught:
        new_chapter.plan(new_chapter.draft_chapter(title), SECTION, project)
    assert message in str(caught.value)
    assert list_files(project) == before


def test_a_chapter_stands_at_the_end_of_its_section() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for section in new_chapter.SECTIONS:
        new_nav = new_chapter.add_entry(nav, new_chapter.draft_chapter("What's next, then?"), section)
        assert "".join(line for line in new_nav.splitlines(keepends=True) if "whats-next-then" not in line) == nav
        entries = yaml.safe_load(new_nav[new_nav.index("\nnav:") :])["nav"]
        [pages] = [entry[section] for entry in entries if section in entry]
        assert pages[-1] == {"What's next, then?": "whats-next-then.md"}


def test_a_section_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(new_chapter.ChapterError, match="no section 'Extras' in its navigation; there are Understand, "):
        new_chapter.add_entry("nav:\n  - Home: index.md\n", new_chapter.draft_chapter("A title"), "Extras")


def test_when_one_file_cannot_be_written_all_is_as_it_was(project: Path) -> None:
    before = list_files(project)
    files = new_chapter.plan(new_chapter.draft_chapter("A trial"), SECTION, project)
    (project / "tests").write_text("a file where a folder must be", encoding="utf-8")
    with pytest.raises(OSError, match="tests"):
        new_chapter.write_files(files)
    (project / "tests").unlink()
    assert list_files(project) == before


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a copy of the project, with its own package and scripts and this project's captures."""
    cache = os.environ.get("XLA_INSPECT_CACHE", str(ROOT / ".cache" / "xla_inspect"))
    path = os.pathsep.join(str(folder / name) for name in ("snippets", "scripts"))
    environment = {**os.environ, "XLA_INSPECT_CACHE": cache, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, check=False, capture_output=True, text=True
    )


@pytest.mark.long("maintainers and continuous integration alone run this")
@pytest.mark.usefixtures("all_targets")
def test_a_new_chapter_passes_its_checks_and_a_second_of_its_name_is_refused(tmp_path: Path) -> None:
    for name in USED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    begun_run = run(tmp_path, "-m", "authoring.new_chapter", "A trial chapter", "--section", "Beyond the compiler")
    assert (begun_run.returncode, begun_run.stderr) == (0, "")
    page = tmp_path / "docs" / "a-trial-chapter.md"
    written_paths = [
        line.partition(" ")[2] for line in begun_run.stdout.splitlines() if line.startswith(("wrote", "changed"))
    ]
    assert written_paths == [
        "docs/a-trial-chapter.md",
        "snippets/programs/a_trial_chapter.py",
        "tests/programs/test_a_trial_chapter.py",
        "mkdocs.yml",
        "docs/data/affirmed.txt",
    ]
    tests = [f"tests/site/test_{name}.py" for name in ("pages", "affirmed", "anatomy")]
    tests += ["tests/scripts/lint", "tests/programs", "tests/scripts/authoring/test_expected_outputs.py"]
    words = "a-trial-chapter or a_trial_chapter or numpy"
    checked = run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--page", str(page), "-k", words, *tests)
    assert checked.returncode == 0, checked.stdout
    program = tmp_path / "snippets" / "programs" / "a_trial_chapter.py"
    program.write_text(program.read_text(encoding="utf-8").replace("jax.nn.sigmoid(x)", "jax.nn.softmax(x)"), "utf-8")
    test_result = run(
        tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--page", str(page), "-k", words, tests[0]
    )
    assert "Your step has an element-wise function between others" in test_result.stdout
    again = run(tmp_path, "-m", "authoring.new_chapter", "A trial chapter")
    assert again.returncode == 1
    assert again.stderr == (
        "new-chapter: the navigation has A trial chapter already, docs/a-trial-chapter.md; choose another title\n"
    )


def test_a_failing_title_is_one_line_and_no_traceback() -> None:
    result = run(ROOT, "-m", "authoring.new_chapter", "Ops: a list")
    assert (result.returncode, len(result.stderr.splitlines())) == (1, 1)
    assert result.stderr.startswith("new-chapter: the title 'Ops: a list' holds ':'")
