"""Half of the predictions ask for a reason, all offered reasons are computed, and none of them gives itself away."""

from __future__ import annotations

import ast
import re
from html import unescape
from typing import TYPE_CHECKING

import pytest

from .page_questions import list_calls, list_pages, name_call, parametrize_asking, read_code

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

QUESTION = re.compile(r'<div class="predict" [^>]*data-kind="(\w+)".*?</div>', re.DOTALL)
CHOICE = re.compile(r'<summary>(.*?)</summary><p class="(right|wrong)">(.*?)</p>')
# A reason is chosen among so many, and a page with several questions asks why in one of three at least.
FEWEST_REASONS, MOST_REASONS, SEVERAL = 2, 4, 3
LEAST_ASKED = 50  # were there fewer, a page would have been missed

pytest_generate_tests = parametrize_asking


def asks_why(call: ast.Call) -> bool:
    """Return whether a question asks "why" and offers reasons."""
    question = " ".join(str(node.value) for node in ast.walk(call.args[0]) if isinstance(node, ast.Constant))
    return name_call(call.func) == "ask_reason" and re.search(r"\bwhy\b", question, re.IGNORECASE) is not None


def list_deciding(holds: ast.expr) -> Iterator[ast.expr]:
    """Yield the operands of `and`, `or`, `not` and `if` that decide whether a reason holds."""
    if isinstance(holds, ast.BoolOp | ast.UnaryOp | ast.IfExp):
        for part in ast.iter_child_nodes(holds):
            if isinstance(part, ast.expr):
                yield from list_deciding(part)
    else:
        yield holds


def find_faults(code: str) -> Iterator[str]:
    """Yield the faults of the reasons that code offers: their number, and operands that no capture decides."""
    for call in list_calls(ast.parse(code)):
        if name_call(call.func) != "ask_reason":
            continue
        offered = next((keyword.value for keyword in call.keywords if keyword.arg == "reasons"), None) or call.args[1]
        question = ast.unparse(call.args[0])
        if not isinstance(offered, ast.Dict):
            yield f"{question}: its reasons are not written beside it"
            continue
        reasons = {
            ast.unparse(sentence): pair.elts[0] if isinstance(pair, ast.Tuple) else pair
            for sentence, pair in zip(offered.keys, offered.values, strict=True)
            if sentence
        }
        if not FEWEST_REASONS <= len(reasons) <= MOST_REASONS:
            yield f"{question}: {len(reasons)} reasons"
        for sentence, holds in reasons.items():
            if any(isinstance(part, ast.Constant) for part in list_deciding(holds)):
                yield f"{sentence}: typed"


ASKED = 'print(prediction.ask_reason("Why?", %s, see="#x"))'


@pytest.mark.parametrize(
    ("reasons", "faults"),
    [
        ("{'It is large': (found > 3, ''), 'It is small': (found < 3, '')}", []),
        ("{'It is large': (found > 3, ''), 'It is small': (False, f'{found}')}", ["'It is small': typed"]),
        ("{'It is large': (True and found, ''), 'It is small': (found < 3, '')}", ["'It is large': typed"]),
        ("{'Large': (not (found or True), ''), 'Small': (count(found, all=True), '')}", ["'Large': typed"]),
        ("{'It is large': (found > 3, '')}", ["'Why?': 1 reasons"]),
        ("{name: (found > 3, '') for name in 'ab'}", ["'Why?': its reasons are not written beside it"]),
    ],
)
def test_a_reason_that_no_capture_decides_is_found(reasons: str, faults: list[str]) -> None:
    assert list(find_faults(ASKED % reasons)) == faults


def test_the_reasons_on_a_page_are_computed(asking: Path) -> None:
    assert [fault for code in read_code(asking) for fault in find_faults(code)] == []


def test_half_of_all_questions_ask_why() -> None:
    pages = {page.name: list_calls(ast.parse("\n".join(read_code(page)))) for page in list_pages()}
    calls = [call for page in pages.values() for call in page]
    assert len(calls) > LEAST_ASKED
    assert 2 * sum(map(asks_why, calls)) >= len(calls)
    few = {
        name: f"{sum(map(asks_why, questions))} of {len(questions)}"
        for name, questions in pages.items()
        if len(questions) >= SEVERAL and SEVERAL * sum(map(asks_why, questions)) < len(questions)
    }
    assert few == {}


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("ask_reason('Why two?', {}, see='#x')", True),
        ("ask_reason(f'{count} kernels: why?', {}, see='#x')", True),
        ("ask_reason('What is in it?', {}, see='#x')", False),
        ("ask_which('Why is this the largest?', {}, see='#x')", False),
    ],
)
def test_a_question_asks_why_where_it_says_so_and_offers_reasons(question: str, why: bool) -> None:  # noqa: FBT001 - what is expected
    (call,) = list_calls(ast.parse(question))
    assert asks_why(call) is why


@pytest.fixture
def built_questions(built_site: Path) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """The questions of the built site: the kind of each, and the text, the verdict and the feedback of its choices."""
    pages = (page.read_text(encoding="utf-8") for page in sorted(built_site.rglob("*.html")))
    return [
        (question[1], [(re.sub(r"<[^>]*>", "", says), *answer) for says, *answer in CHOICE.findall(question[0])])
        for text in pages
        for question in QUESTION.finditer(text)
    ]


@pytest.mark.usefixtures("all_targets")
def test_half_of_the_questions_that_the_built_site_asks_are_for_a_reason(
    built_questions: list[tuple[str, list[tuple[str, str, str]]]],
) -> None:
    kinds = [kind for kind, _ in built_questions]
    assert len(kinds) > LEAST_ASKED
    assert 2 * kinds.count("reason") >= len(kinds)


def is_longest(choices: list[tuple[str, str, str]]) -> bool:
    """Return whether the right choice is longer than each wrong one."""
    (right,) = (len(unescape(says)) for says, verdict, _ in choices if verdict == "right")
    return right > max(len(unescape(says)) for says, verdict, _ in choices if verdict == "wrong")


@pytest.mark.usefixtures("all_targets")
def test_the_right_reason_is_the_longest_only_as_often_as_by_chance(
    built_questions: list[tuple[str, list[tuple[str, str, str]]]],
) -> None:
    reasons = [choices for kind, choices in built_questions if kind == "reason"]
    chances = [1 / len(choices) for choices in reasons]
    # By chance, the number is within one standard deviation of the mean two times out of three.
    deviation = sum(chance * (1 - chance) for chance in chances) ** 0.5
    assert sum(map(is_longest, reasons)) <= sum(chances) + deviation
    assert is_longest([("&lt;a", "wrong", ""), ("abc", "right", "")])
    assert not is_longest([("abc", "wrong", ""), ("abc", "right", "")])
