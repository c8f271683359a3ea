"""Ten tasks of readers, each at most two clicks from the home page.

A task is done where a heading that answers it is in the window. What the search finds is the subject of `test_search`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import pytest

from .waiting import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from .conftest import Opener

YOUR_CODE = "Try it on your code|Your code"
EXPLORER = "[data-explorer] [role=listbox]"
IN_SIGHT = "css => { const it = document.querySelector(css)?.getBoundingClientRect(); return it?.top < innerHeight }"


class Task(NamedTuple):
    """A question of a reader, and the way to its answer.

    Attributes:
        question: The question in a reader's words.
        clicks: The links or buttons on the way from home, each a regular expression for its whole text.
        page: The page that answers.
        answer: A CSS selector of the answer on that page.
    """

    question: str
    clicks: tuple[str, ...]
    page: str
    answer: str


TASKS = [
    Task(
        "My step runs out of memory: how do I read the report?",
        ("Questions.*", "Out of memory.*"),
        "questions/",
        "#out-of-memory",
    ),
    Task("What does XLA make of my own function?", (YOUR_CODE,), "your-code/", "#your-code"),
    Task(
        "Why does my function launch two kernels, and not one?",
        ("Fusion", "What stops a fusion"),
        "fusion/",
        "#what-stops",
    ),
    Task("What does each pass do to a program?", ("Step through the passes",), "", EXPLORER),
    Task(
        "What does each pass do to the pipeline's program?",
        ("The pipeline", "Open the explorer"),
        "pipeline/",
        EXPLORER,
    ),
    Task("Why does it compile again and again?", (YOUR_CODE, "Recompilation"), "your-code/", "#recompiles"),
    Task(
        "Which collectives does my sharded step have?",
        (YOUR_CODE, "Communication between devices"),
        "your-code/",
        "#collectives",
    ),
    Task(
        "Which line of Python is this kernel of my profile?",
        (YOUR_CODE, "Kernels"),
        "your-code/",
        "#kernels",
    ),
    Task(
        "Can I compile for a TPU that I do not have?",
        ("Questions.*", "Can I compile for a GPU or TPU.*"),
        "questions/",
        "#without-device",
    ),
    Task(
        "Why does jit give other numbers than without?",
        ("Questions.*", "Why do jit and eager results differ.*"),
        "questions/",
        "#numbers",
    ),
    Task("What becomes of attention on an H100, pass by pass?", ("Explorer",), "explorer/", EXPLORER),
]


def find(page: Page, says: str) -> Locator:
    """Return the first visible link or button with the given text.

    Raises:
        AssertionError: There is none.
    """
    exactly = re.compile(rf"^\s*(?:{says})\s*$", re.IGNORECASE)
    for kind in ("link", "button"):
        for element in page.get_by_role(kind, name=exactly).all():
            box = element.is_visible() and element.bounding_box()
            # What lies outside of a window that scrolls has room too.
            if box and box["width"] > 1 and box["height"] > 1 and box["x"] >= 0:
                return element
    message = f"nothing that is seen says {says!r}"
    raise AssertionError(message)


@pytest.mark.parametrize("task", TASKS, ids=[task.question for task in TASKS])
def test_an_answer_is_two_clicks_from_home(open_page: Opener, task: Task) -> None:
    page = open_page("")
    assert len(task.clicks) <= 2
    for says in task.clicks:
        find(page, says).click()
        page.wait_for_load_state("load")
    page.locator(task.answer).first.wait_for()
    assert page.evaluate("location.pathname").removeprefix("/").removesuffix("index.html") == task.page
    wait_until(page, IN_SIGHT, task.answer.partition(" ")[0])
