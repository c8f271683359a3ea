"""Every page of the site runs as in the build: blocks, values, checks and ignored fences."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mkdocs.utils import meta
from tests import turns

from lint import style, typed_numbers
from livepage import other_machine, render_one
from livepage.notebooks import read_markdown, read_notebook
from livepage.read import Build, Kind
from xla_inspect.practice import CHECKED, ORDINALS, PHASES, anchor, find_exercise, find_exercises

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
VALUE, CHECK = Kind.VALUE, Kind.CHECK
SPAN = '<span class="value"'
CLAIM = re.compile(r'<p class="claim">Checked in this build: (.*?)</p>')
SUMMARY = re.compile(r"<summary>(.*?)</summary>")
PAGES = {"page": sorted((ROOT / "docs").rglob("*.md")), "notebook": sorted((ROOT / "docs").rglob("*.py"))}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test for each page and each notebook, for those whose turn it is, or for those that `--page` names."""
    chosen = {Path(page).resolve() for page in metafunc.config.getoption("--page")}
    for kind in ({*PAGES} | {"page_in_turn"}) & {*metafunc.fixturenames}:
        every = PAGES["page"] if kind == "page_in_turn" else PAGES[kind]
        pages = [page for page in every if page in chosen] if chosen else every
        if kind == "page_in_turn" and not chosen:
            pages = turns.choose(pages)
        metafunc.parametrize(kind, pages, ids=[page.relative_to(ROOT / "docs").as_posix() for page in pages])


@pytest.mark.long("the strict build has run every page")
def test_the_checks_of_a_page_pass(page: Path) -> None:
    """Run a page; a failure is named by page and line, as in the build."""
    build = Build()
    html, failures = render_one.render_page(page, ROOT, build)
    if failures:
        pytest.fail("\n".join(map(str, failures)), pytrace=False)
    source, outcomes = build.sources[page.relative_to(ROOT).as_posix()]
    assert len(outcomes) == len(source.pieces)
    gaps = [
        outcome for piece, outcome in zip(source.pieces, outcomes, strict=True) if outcome.gap and piece.kind is VALUE
    ]
    value_count = sum(outcome.text.count(SPAN) for outcome in outcomes)
    assert html.count(SPAN) - value_count == source.count(VALUE) - len(gaps)
    assert len(re.findall('<(?:details|section) class="check', html)) == source.count(CHECK)


@pytest.fixture(scope="module", autouse=True)
def elsewhere(pages: list[Path]) -> Iterator[other_machine.Twin]:
    """A process with another date on a machine with other cores, which runs each page twice unless it agreed before."""
    with other_machine.Twin(ROOT, ["jax", "xla_inspect"]) as twin:
        for page in pages:
            if page.suffix == ".md":
                stored = Build(elsewhere=lambda _: None)
                render_one.render_page(page, ROOT, stored)
                if not other_machine.has_agreed(stored, page.relative_to(ROOT).as_posix()):
                    twin.ask(page)
        yield twin


@pytest.mark.long("the strict build has run every page")
def test_a_page_shows_nothing_of_the_moment_the_machine_or_an_earlier_run(
    page_in_turn: Path, elsewhere: other_machine.Twin
) -> None:
    """A page that shows time, dates, randomness, set order or the number of cores fails at that line."""
    build = Build()
    render_one.render_page(page_in_turn, ROOT, build)
    if differences := elsewhere.compare(page_in_turn, build):
        pytest.fail("\n".join(differences), pytrace=False)


@pytest.mark.long("the strict build has run every page")
def test_the_checks_of_a_notebook_pass(notebook: Path) -> None:
    """Run a notebook unless its result is stored; its checks, predictions and exercises are on its page."""
    html, failures = render_one.render_page(notebook, ROOT)
    if failures:
        pytest.fail("\n".join(map(str, failures)), pytrace=False)
    cells = read_notebook(notebook).cells
    claims = [str(cell.metadata["check"]) for cell in cells if "check" in cell.metadata]
    opened = [str(cell.metadata["open"]) for cell in cells if "open" in cell.metadata]
    folded = [str(cell.metadata["fold"]) for cell in cells if "fold" in cell.metadata]
    exercises = [find_exercise(str(cell.metadata["exercise"])) for cell in cells if "exercise" in cell.metadata]
    solutions = ["A solution, and what the check finds in it"] * len(exercises)
    summaries = [unescape(text) for text in SUMMARY.findall(html)]
    assert Counter(summaries) == Counter(
        opened + folded + [f"{ordinal} hint" for ordinal in ORDINALS] * len(exercises) + solutions
    )
    assert [unescape(text) for text in CLAIM.findall(html)] == claims
    assert [f'id="{anchor(exercise)}"' in html for exercise in exercises] == [True] * len(exercises)
    assert [word for word in ("jp-", "<style", "<script", "ipykernel", str(Path.home())) if word in html] == []


def test_every_exercise_stands_in_one_notebook() -> None:
    """Each exercise is in the notebook of its phase, in the order of marking."""
    phases = {path.stem: read_notebook(path) for path in PAGES["notebook"]}
    notebook_exercises = {
        name: [str(cell.metadata["exercise"]) for cell in notebook.cells if "exercise" in cell.metadata]
        for name, notebook in phases.items()
    }
    assert notebook_exercises == {name: [exercise.key for exercise in find_exercises(name)] for name in phases}
    assert sorted(phases) == sorted(CHECKED)
    minutes = {name: meta.get_data(notebook.front_matter)[1]["minutes"] for name, notebook in phases.items()}
    assert {name: minutes[name] for name in PHASES} == {name: phase.minutes for name, phase in PHASES.items()}


def test_the_prose_of_a_notebook_keeps_the_rules_of_pages(notebook: Path) -> None:
    """The prose has no typed number, one sentence in each line, and terms as in the glossary."""
    name, text = notebook.relative_to(ROOT).as_posix(), read_markdown(notebook)
    assert list(map(str, [*typed_numbers.check_text(text, name, ROOT), *style.check_text(text, name)])) == []
