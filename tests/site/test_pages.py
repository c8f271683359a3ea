"""Every page of the site runs, as in the build: blocks, values, checks and the fences that would silently not run."""

from __future__ import annotations

from pathlib import Path

import pytest

from livepage import standalone
from livepage.blocks import Kind
from livepage.project import project

ROOT = Path(__file__).resolve().parents[2]
VALUE, CHECK = Kind.VALUE, Kind.CHECK
SPAN = '<span class="value">'
PAGES = sorted((ROOT / "docs").rglob("*.md"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test for each page, or for those that `--page` names."""
    named = {Path(page).resolve() for page in metafunc.config.getoption("--page")}
    pages = [page for page in PAGES if not named or page in named]
    metafunc.parametrize("page", pages, ids=[page.relative_to(ROOT / "docs").as_posix() for page in pages])


def test_a_page_holds_what_it_claims(page: Path) -> None:
    """Run a page; a failure is named by page and line, as in the build."""
    html, failures = standalone.render(page, ROOT)
    if failures:
        pytest.fail("\n".join(map(str, failures)), pytrace=False)
    source, outcomes = project.sources[page.relative_to(ROOT).as_posix()]
    assert len(outcomes) == len(source.pieces)
    gaps = [
        outcome for piece, outcome in zip(source.pieces, outcomes, strict=True) if outcome.gap and piece.kind is VALUE
    ]
    printed = sum(outcome.text.count(SPAN) for outcome in outcomes)
    assert html.count(SPAN) - printed == source.count(VALUE) - len(gaps)
    assert html.count('<details class="check') == source.count(CHECK)
