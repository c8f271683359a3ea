"""Predictions by mouse and keyboard, which are stored if JavaScript runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import pytest

from .giveaways import Question, is_answer, list_giveaways
from .test_access import judge
from .visits import PHONE, WIDE
from .waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import BrowserContext, Locator, Page

    from .conftest import Anew

ASKED, HOME = "asked/index.html", "index.html"
KEEPS = "words => JSON.stringify(Object.values(localStorage)).replaceAll('\\\\', '').includes(words)"
"""A JavaScript function that tests whether the browser's local storage contains some words."""


def question(page: Page, place: int = 0) -> Locator:
    """Return the question at a place on the page, from 0."""
    return page.locator(".predict").nth(place)


def guess(page: Page, place: int, choice: str) -> None:
    """Press a choice of a question."""
    question(page, place).get_by_role("button", name=choice).click()


def count(page: Page, place: int = 0) -> str:
    """Return the text with which a question reports the number of predictions."""
    return question(page, place).locator(".predict-count").inner_text()


def test_choices_are_buttons_and_the_answer_is_hidden_before_a_guess(asked_page: Page) -> None:
    assert question(asked_page).get_by_role("button").all_inner_texts() == ["CPU", "NVIDIA H100", "TPU v5e"]
    assert [fold.is_visible() for fold in asked_page.locator(".predict details").all()] == [False] * 8
    assert question(asked_page).get_by_role("status").inner_text() == ""
    assert asked_page.get_by_role("group", name="Which launches the most <kernels>?").count() == 1


def test_a_guess_is_answered_with_the_listing_whether_right_or_wrong(asked_page: Page) -> None:
    for choice, verdict in (("CPU", "Wrong. The answer is the TPU v5e."), ("TPU v5e", "Right.")):
        guess(asked_page, 0, choice)
        feedback = question(asked_page).get_by_role("status")
        assert feedback.inner_text().startswith(verdict)
        assert feedback.get_by_role("link").get_attribute("href") == "#listing"
        pressed = question(asked_page).locator("[aria-pressed=true]")
        assert pressed.count() == 1
        assert choice in pressed.inner_text()
    assert count(asked_page) == "1 of 3 predicted, 0 right"


def test_the_keyboard_alone_suffices(asked_page: Page) -> None:
    question(asked_page, 1).get_by_role("button").first.focus()
    asked_page.keyboard.press("Tab")
    asked_page.keyboard.press("Space")
    assert question(asked_page, 1).get_by_role("status").inner_text().startswith("Wrong. The answer is 2.")
    asked_page.keyboard.press("Shift+Tab")
    asked_page.keyboard.press("Enter")
    assert question(asked_page, 1).get_by_role("status").inner_text().startswith("Right.")
    for _ in range(3):
        asked_page.keyboard.press("Tab")
    asked_page.keyboard.press("Enter")
    assert asked_page.evaluate("location.hash") == "#listing"


def test_only_the_first_guess_is_stored(asked_page: Page) -> None:
    guess(asked_page, 0, "TPU v5e")
    guess(asked_page, 0, "CPU")
    guess(asked_page, 2, "large")
    asked_page.reload()
    assert question(asked_page).locator(".guess").inner_text() == "TPU v5e"
    assert question(asked_page).get_by_role("status").inner_text().startswith("Right.")
    assert question(asked_page, 2).get_by_role("status").inner_text().startswith("Wrong.")
    assert count(asked_page, 1) == "2 of 3 predicted, 1 right"


def test_a_guess_is_deleted_if_the_question_or_key_changes(asked_page: Page) -> None:
    guess(asked_page, 0, "TPU v5e")
    guess(asked_page, 1, "2")
    digest = question(asked_page).get_attribute("data-digest")
    asked_page.route(
        f"**/{ASKED}",
        lambda route: route.fulfill(response=(answer := route.fetch()), body=answer.text().replace(str(digest), "new")),
    )
    asked_page.reload()
    assert question(asked_page).locator(".guess").count() == 0
    assert count(asked_page) == "1 of 3 predicted, 1 right"


def test_home_offers_to_continue_reading_and_can_forget(asked_page: Page, asked_address: str) -> None:
    asked_page.goto(f"{asked_address}/{HOME}")
    place = asked_page.locator("#continue")
    assert "Asked & answered" in place.inner_text()
    asked_page.goto(f"{asked_address}/{ASKED}")
    guess(asked_page, 0, "CPU")
    asked_page.locator("#listing").scroll_into_view_if_needed()
    asked_page.mouse.wheel(0, 400)
    wait_until(asked_page, KEEPS, '"at":"listing"')
    asked_page.goto(f"{asked_address}/{HOME}")
    assert place.locator("p").first.inner_text() == (
        "Continue where you stopped: Asked & answered, at “What came out”; 1 of 3 questions predicted."
    )
    place.get_by_role("link").first.click()
    assert asked_page.url == f"{asked_address}/asked/#listing"
    asked_page.wait_for_load_state()
    asked_page.mouse.wheel(0, 99999)
    wait_until(asked_page, KEEPS, '"read":true')
    asked_page.goto(f"{asked_address}/{HOME}")
    assert "Read to the end: Asked & answered." in place.inner_text()
    assert judge(asked_page) == []
    place.get_by_role("button").click()
    assert place.is_hidden()
    asked_page.reload()
    assert place.is_hidden()


def test_a_first_visit_to_home_has_no_offer(asked_context: BrowserContext, asked_address: str) -> None:
    page = asked_context.new_page()
    page.goto(f"{asked_address}/{HOME}")
    assert page.locator("#continue").is_hidden()
    assert page.evaluate("Object.keys(localStorage).filter(key => key.includes('reading'))") == []


STRANGE = {
    "pages": {"asked/": {"title": "<img src=x onerror=alert(1)>"}, "https://evil.example/": {"title": "E"}},
    "last": {"page": "https://evil.example/"},
}


@pytest.mark.parametrize("stored", ["<b>", [], STRANGE], ids=["text", "list", "strange"])
def test_stored_data_is_escaped_and_cannot_link_elsewhere(asked_page: Page, asked_address: str, stored: object) -> None:
    asked_page.evaluate("kept => localStorage.setItem('/.reading', JSON.stringify(kept))", stored)
    asked_page.goto(f"{asked_address}/{HOME}")
    assert asked_page.locator("#continue img").count() == 0
    links = asked_page.eval_on_selector_all("#continue a", "links => links.map(link => link.origin)")
    assert set(links) <= {asked_address}


@pytest.mark.parametrize("asked_context", [{"java_script_enabled": False}], indirect=True)
def test_without_javascript_each_choice_is_a_fold(asked_page: Page) -> None:
    folds = question(asked_page).locator("details")
    assert folds.locator("summary").all_inner_texts() == ["CPU", "NVIDIA H100", "TPU v5e"]
    folds.nth(2).locator("summary").click()
    assert folds.nth(2).locator("p").inner_text().startswith("Right.")
    assert folds.nth(2).get_by_role("link").is_visible()


@pytest.mark.parametrize(
    ("asked_context", "guessed"),
    [
        ({"viewport": {"width": width, "height": 800}, "color_scheme": scheme}, guessed)
        for width, scheme in ((WIDE, "light"), (PHONE, "dark"))
        for guessed in (False, True)
    ],
    indirect=["asked_context"],
    ids=["wide", "wide, guessed", "phone", "phone, guessed"],
)
def test_the_question_is_accessible_and_fits_a_phone(asked_page: Page, guessed: Literal[True, False]) -> None:
    if guessed:
        for place in range(3):
            question(asked_page, place).get_by_role("button").first.click()
    assert judge(asked_page) == []
    assert asked_page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    heights = asked_page.eval_on_selector_all(
        ".predict button", "all => all.map(one => one.getBoundingClientRect().height)"
    )
    assert min(heights) >= 24


def test_the_search_leaves_questions_out_and_the_reading_time_their_answers(
    asked_page: Page, asked_folder: Path
) -> None:
    index_text = (asked_folder / "site" / "search" / "search_index.json").read_text(encoding="utf-8")
    assert '"location":"asked/"' in index_text
    assert not re.search(r"\bkernels\b", index_text)  # of the question
    assert "two users" not in index_text
    assert "It is so" not in index_text
    assert asked_page.locator(".reading-time").inner_text() == "About 2 minutes to read"


def test_neither_nearby_text_nor_another_question_answers_a_question(open_anew: Anew, page_path: str) -> None:
    assert list(list_giveaways(open_anew(page_path))) == []


SAYS_USERS = "<p>The sum has two users.</p>"


@pytest.mark.parametrize(
    ("heading", "text", "questions"),
    [
        ("first", "<p>The TPU v5e launches the most, 4 kernels.</p>", ["Which launches the most <kernels>?"]),
        ("first", "<p>The CPU has two kernels.</p>", ["How many kernels has the CPU?"]),
        ("first", "<table><tr><th>has kernels<tr><td>CPU: 2</table>", ["How many kernels has the CPU?"]),
        ("listing", SAYS_USERS, ["Why?"]),
        ("next", SAYS_USERS, []),
        ("first", f"<details><summary>More</summary>{SAYS_USERS}</details>", []),
        ("first", "<p>A sum.</p>", []),
    ],
    ids=["which", "value", "row", "on the same screen", "far below", "folded", "no answer"],
)
def test_visible_text_near_a_question_that_answers_it_is_found(
    asked_page: Page, heading: str, text: str, questions: list[str]
) -> None:
    insert = "([id, html]) => document.getElementById(id).insertAdjacentHTML('afterend', html)"
    asked_page.evaluate(insert, [heading, text])
    assert [line.partition(" -> ")[0] for line in list_giveaways(asked_page)] == questions


def test_a_question_that_answers_another_one_is_found(asked_page: Page) -> None:
    words = "Why does the TPU v5e launch the most kernels?"
    question(asked_page, 2).locator(".predict-question").evaluate("(it, words) => { it.textContent = words }", words)
    assert list(list_giveaways(asked_page)) == [f"Which launches the most <kernels>? -> 4: {words}"]


TWO_KERNELS = Question(
    "reason",
    "The CPU launches two kernels for this layer. Why are there two?",
    "A library computes the matmul, and XLA fuses the remaining operations",
    ("Two instructions read the matmul's result from memory", "XLA fuses the bias into the matmul, but not the relu"),
)
NO_VECTORS = Question(
    "reason",
    "On the CPU, two of the five kernels of attention process one element at a time. Why?",
    "LLVM's cost model estimates no gain from vectors there.",
    ("An iteration needs the result of another iteration.", "The loop calls a function that has no vector version."),
)
COPY_START = Question(
    "reason",
    "The TPU's optimized module has a `copy-start`, which no line of the program requests. Why?",
    "The TPU copies the weights into on-chip memory",
    ("JAX copies an argument during lowering", "XLA protects an argument that will be overwritten"),
)
SAVINGS = Question("value", "On which target does this policy save the least device memory?", "CPU", ("NVIDIA H100",))
RUNS = Question("which", "Which compiler runs the pass `algsimp` the least often on this layer?", "4", ())


@pytest.mark.parametrize(
    ("passage", "subject", "expected"),
    [
        (
            "The TPU makes one fusion of it, but the CPU launches two kernels. It hands the matmul to a library.",
            TWO_KERNELS,
            True,
        ),
        ("The TPU makes one fusion of it, but the CPU launches two kernels.", TWO_KERNELS, False),
        ("It hands the matmul to a library.", TWO_KERNELS, False),
        ("For two kernels, LLVM's cost model then estimates no gain from vectors.", NO_VECTORS, True),
        (
            "kernel vector width LLVM's remark reduce none the cost-model says that vectorization is not beneficial",
            NO_VECTORS,
            True,
        ),
        ("An element of the CPU's attention is one of five numbers.", NO_VECTORS, False),
        ("Here, `copy-start` copies the weights into the TPU's on-chip memory.", COPY_START, True),
        ("A TPU has on-chip memory.", COPY_START, False),
        ("Why does the policy save no device memory on the CPU?", SAVINGS, True),
        ("Why does the policy save less device memory on the TPU?", SAVINGS, False),
        ("The pass `algsimp` runs 4 times on this layer on the CPU.", RUNS, True),
        ("The pass `algsimp` runs on this layer.", RUNS, False),
        ("The CPU has 4 cores.", RUNS, False),
    ],
)
def test_a_passage_that_answers_a_question_is_recognized(passage: str, subject: Question, expected: bool) -> None:  # noqa: FBT001 - what is expected
    assert is_answer(passage, subject) is expected
