"""The parts of a chapter are correct; `lint.chapter_parts` recommends missing ones."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from lint.chapter_parts import QUESTION, list_answers, list_chapters, list_long_blocks, list_missing
from livepage import render_one
from livepage.publish import reading_time

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 15
"""Minutes that a chapter may take; longer ones are split, shortened or folded."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test for each chapter, or for those that `--page` names."""
    chosen = {Path(page).resolve() for page in metafunc.config.getoption("--page")}
    if "page" in metafunc.fixturenames:
        pages = [page for page in list_chapters() if not chosen or page in chosen]
        metafunc.parametrize("page", pages, ids=[page.stem for page in pages])


@cache
def render(page: Path) -> str:
    """Return a page's HTML."""
    return render_one.render_page(page, ROOT)[0]


def test_the_chapters_are_found() -> None:
    assert [page.stem for page in list_chapters()][:1] == ["pipeline"]


def test_the_answers_of_a_chapter_are_executed(page: Path) -> None:
    answers = list_answers(page.read_text(encoding="utf-8"))
    assert [answer for answer in answers if not re.search(r"exec=|check=|`= ", answer)] == []


def test_a_chapter_that_shows_a_gpu_says_at_its_foot_that_nothing_was_tuned(page: Path) -> None:
    text, _, foot = render(page).partition('<p class="made">')
    assert "H100" not in re.sub(r"<[^>]*>", " ", text) or not foot or "without a GPU: tiles of matmuls are" in foot


def test_a_question_is_above_its_answer(page: Path) -> None:
    """The link of a question leads to a place below it, or to the section that contains it."""
    html = render(page)
    questions = [*QUESTION.finditer(html)]
    late = []
    for question in questions:
        see = re.search(r'<a href="#([^"]+)">See what the compiler did</a>', html[question.end() :])
        section = max([0, *(head.start() for head in re.finditer(r"<h[23]\b", html[: question.start()]))])
        if see is None or html.find(f'id="{see[1]}"') < section:
            late.append(f"{question[1]} leads up to #{see[1] if see else ''}")
    assert late == []


def test_the_section_on_the_readers_own_code_has_the_command_and_the_way_to_more(page: Path) -> None:
    _, heading, ending = render(page).partition('<h2 id="own-code"')
    assert not heading or "xla-inspect" in re.sub(r"<[^>]*>", "", ending)
    assert not heading or re.search(r'href="[^"]*your-code', ending)


WHOLE = """# A title

It is one sentence.
{ .answer }

## Kernels { #kernels }

??? question "How many?"
    `= 1`

??? question "And now?"
    `= 2`

## On your own code { #own-code }

## Next
"""
MADE = (
    '<h1>A title</h1><p class="answer">It is one sentence.</p><h2 id="kernels">Kernels</h2><svg></svg>'
    '<i id="predict-1"></i><i id="predict-2"></i><i id="predict-3"></i><h2 id="own-code">On your own code</h2>'
    '<h2 id="next">Next</h2>'
)


def test_a_long_block_is_to_go_into_a_module() -> None:
    blocks = "".join(f'```python exec="on"\n{"x = 1\n" * lines}```\n\n' for lines in (25, 26))
    [missing] = list_missing(f"{blocks}{WHOLE}", MADE)
    assert missing == "at most 25 lines in a block: that of line 29 fits into a module of snippets/pages"


def test_chapters_have_no_long_block(page: Path) -> None:
    assert list_long_blocks(page.read_text(encoding="utf-8")) == []


def test_a_whole_chapter_lacks_nothing() -> None:
    assert list(list_missing(WHOLE, MADE)) == []


@pytest.mark.parametrize(
    ("part", "fault"),
    [
        ('<p class="answer">', "one sentence before everything else"),
        ("sentence.</p>", "one sentence before everything else"),
        ("<svg>", "a picture"),
        ('<i id="predict-2">', "3 questions"),
        ('??? question "And', "2 exercises"),
        (" { #kernels }", "an address for each section, such as ## Kernels { #kernels }"),
        ('<h2 id="own-code">', "a section { #own-code }"),
        ("## Next", "a last section"),
    ],
)
def test_a_part_that_is_missing_is_recommended(part: str, fault: str) -> None:
    assert part in WHOLE + MADE
    [missing] = list_missing(WHOLE.replace(part, ""), MADE.replace(part, "</p>Two. Three.</p>" * ("</p>" in part)))
    assert missing.startswith(fault)


def test_a_chapter_is_read_in_a_quarter_of_an_hour(page: Path) -> None:
    assert reading_time.estimate(render(page)) <= LONGEST
