"""Every chapter has the parts that a reader was promised: an answer first, a picture, exercises, a way on."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from livepage import render_one

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).resolve().parents[2]
SECTIONS = ("Understand", "Beyond the compiler", "Use it well")
HELD_BACK = {"questions.md"}  # a list of answers, each with its own listing
LEAST_EXERCISES = 2
LEAST_QUESTIONS = 3
QUESTION = re.compile(r'id="(predict-[^"]+)"')


class _Nav(yaml.SafeLoader):
    """Reads mkdocs.yml, whose own tags do not matter here."""


_NAV_TAGS = ("!ENV", "tag:yaml.org,2002:python/")
for _tag in _NAV_TAGS:
    _Nav.add_multi_constructor(_tag, lambda *_: None)


def list_chapters() -> list[Path]:
    """Return the chapters, in the order of the navigation."""
    nav = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), _Nav)["nav"]  # noqa: S506 - a safe loader
    sections = [entries for entry in nav for name, entries in entry.items() if name in SECTIONS]
    names = [name for entries in sections for entry in entries for name in entry.values()]
    return [ROOT / "docs" / name for name in names if name not in HELD_BACK]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test for each chapter, or for those that `--page` names."""
    named = {Path(page).resolve() for page in metafunc.config.getoption("--page")}
    if "page" in metafunc.fixturenames:
        pages = [page for page in list_chapters() if not named or page in named]
        metafunc.parametrize("page", pages, ids=[page.stem for page in pages])


@cache
def render(page: Path) -> str:
    """Return a page's HTML."""
    return render_one.render(page, ROOT)[0]


def read_questions(text: str) -> list[str]:
    """Return the body of each folded answer in a page's Markdown."""
    return [found[1] for found in re.finditer(r"^\?\?\?\+? question .*\n((?:(?: {4}.*)?\n)+)", text, re.MULTILINE)]


def test_the_chapters_are_found() -> None:
    assert [page.stem for page in list_chapters()][:1] == ["pipeline"]


def test_a_chapter_opens_with_its_answer_in_one_sentence(page: Path) -> None:
    opening = render(page).partition("<h2")[0]
    answers = re.findall(r'<p class="answer">(.*?)</p>', opening, re.DOTALL)
    assert len(answers) == 1
    assert len(re.findall(r"[.?!](?=\s|$)", re.sub(r"<[^>]*>", "", answers[0]))) == 1


def test_a_chapter_has_a_picture(page: Path) -> None:
    assert re.search(r"<figure\b|<svg\b", render(page))


def test_a_chapter_has_exercises_whose_answers_are_executed(page: Path) -> None:
    answers = read_questions(page.read_text(encoding="utf-8"))
    assert len(answers) >= LEAST_EXERCISES
    assert [answer for answer in answers if not re.search(r"exec=|check=|`= ", answer)] == []


def test_a_chapter_that_shows_a_gpu_says_at_its_foot_that_nothing_was_tuned(page: Path) -> None:
    text, _, foot = render(page).partition('<p class="made">')
    assert "H100" not in re.sub(r"<[^>]*>", " ", text) or not foot or "without a GPU: tiles of matmuls are" in foot


def test_every_section_of_a_chapter_has_an_address_that_its_title_may_outlive(page: Path) -> None:
    headings = re.findall(
        r"^## .*$", re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL), re.MULTILINE
    )
    assert [heading for heading in headings if "{ #" not in heading and heading != "## Next"] == []


def test_a_chapter_ends_with_what_to_read_next(page: Path) -> None:
    assert re.findall(r"^## (\w+)", page.read_text(encoding="utf-8"), re.MULTILINE)[-1] == "Next"


def test_a_chapter_asks_before_it_shows(page: Path) -> None:
    """What a question leads to stands below it, or in the section that the question stands in."""
    html = render(page)
    questions = [*QUESTION.finditer(html)]
    assert len({found[1] for found in questions}) >= LEAST_QUESTIONS
    late = []
    for found in questions:
        see = re.search(r'<a href="#([^"]+)">See what the compiler did</a>', html[found.end() :])
        section = max([0, *(head.start() for head in re.finditer(r"<h[23]\b", html[: found.start()]))])
        if see is None or html.find(f'id="{see[1]}"') < section:
            late.append(f"{found[1]} leads up to #{see[1] if see else ''}")
    assert late == []


def test_a_chapter_ends_with_the_command_for_the_readers_own_code(page: Path) -> None:
    sections = re.findall(r'<h2 id="([^"]+)"', render(page))
    assert sections[-2:-1] == ["own-code"]
    ending = render(page).partition('<h2 id="own-code"')[2]
    assert "xla-inspect" in re.sub(r"<[^>]*>", "", ending)
    assert re.search(r'href="[^"]*your-code', ending)
