"""Half of the predictions ask for a reason, and all offered reasons are computed and of similar length."""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from .page_questions import list_calls, list_pages, name_call, parametrize_asking, read_code

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KIND = re.compile(r'<div class="predict" [^>]*data-kind="(\w+)"')
# A reason is chosen among so many, of which none is so many times as long as all others; and a page with several asks
# why in one of three at least.
FEWEST_REASONS, MOST_REASONS, LONGER, SEVERAL = 2, 4, 2, 3
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
    """Yield the faults of the reasons that code offers: their number, their operands and their lengths."""
    for call in list_calls(ast.parse(code)):
        if name_call(call.func) != "ask_reason":
            continue
        offered = next((keyword.value for keyword in call.keywords if keyword.arg == "reasons"), None) or call.args[1]
        question = ast.unparse(call.args[0])
        if not isinstance(offered, ast.Dict):
            yield f"{question}: its reasons are not written beside it"
            continue
        reasons = {
            ast.unparse(sentence): holds
            for sentence, holds in zip(offered.keys, offered.values, strict=True)
            if sentence
        }
        if not FEWEST_REASONS <= len(reasons) <= MOST_REASONS:
            yield f"{question}: {len(reasons)} reasons"
        for sentence, holds in reasons.items():
            if any(isinstance(part, ast.Constant) for part in list_deciding(holds)):
                yield f"{sentence}: typed"
        *_, second, longest = sorted(reasons, key=len) if len(reasons) > 1 else [*reasons] * 2
        if len(longest) > LONGER * len(second):
            yield f"{question}: {longest} stands out"


ASKED = 'print(prediction.ask_reason("Why?", %s, see="#x"))'


@pytest.mark.parametrize(
    ("reasons", "faults"),
    [
        ("{'It is large': found > 3, 'It is small': found < 3}", []),
        ("{'It is large': found > 3, 'It is small': False}", ["'It is small': typed"]),
        ("{'It is large': True and found, 'It is small': found < 3}", ["'It is large': typed"]),
        ("{'It is large': not (found or True), 'It is small': count(found, all=True)}", ["'It is large': typed"]),
        ("{'It is large': found > 3}", ["'Why?': 1 reasons"]),
        ("{name: found > 3 for name in 'ab'}", ["'Why?': its reasons are not written beside it"]),
        (
            "{'It is large, and has two users': found > 3, 'It is not': found < 3, 'No': found == 3}",
            ["'Why?': 'It is large, and has two users' stands out"],
        ),
    ],
)
def test_a_reason_that_gives_itself_away_is_found(reasons: str, faults: list[str]) -> None:
    assert list(find_faults(ASKED % reasons)) == faults


def test_the_reasons_on_a_page_are_computed_and_alike(asking: Path) -> None:
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


@pytest.mark.usefixtures("all_targets")
def test_half_of_the_questions_that_the_built_site_asks_are_for_a_reason(built_site: Path) -> None:
    kinds = Counter(
        kind for page in built_site.rglob("*.html") for kind in KIND.findall(page.read_text(encoding="utf-8"))
    )
    assert kinds.total() > LEAST_ASKED
    assert 2 * kinds["reason"] >= kinds.total()
