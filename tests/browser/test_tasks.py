"""What readers come for is two clicks and one search away from home: ten tasks, as paths that somebody would take.

A task names the ways that a reader may try, each a list of steps: a search, or a link or button by what it says. It is
done where a heading that answers it is in the window.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Error

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from .conftest import Opener

MOST_CLICKS, MOST_SEARCHES = 2, 1
SEEN = 3
"""How many results of a search somebody looks at."""
SOON = 20_000
"""Milliseconds that a thing has to appear."""


@dataclass(frozen=True)
class Click:
    """A click on the first link or button that is seen and says this, a regular expression for the whole of it."""

    says: str


@dataclass(frozen=True)
class Search:
    """Words typed into the search, and a click on the first of its results that leads to an answer."""

    words: str


@dataclass(frozen=True)
class Task:
    """What a reader wants to know.

    Attributes:
        question: In a reader's words.
        answers: Where headings stand that answer it, each as page and id; of an explorer, its element's id.
        ways: The ways to get there, from home; one that works is enough.
        needs: CSS of what must be seen there besides the heading.
    """

    question: str
    answers: tuple[str, ...]
    ways: tuple[tuple[Click | Search, ...], ...]
    needs: str = ""


TASKS = [
    Task(
        "My step runs out of memory: how do I read the report?",
        ("buffers/#out-of-memory", "questions/#out-of-memory", "your-code/#memory"),
        (
            (Search("out of memory"),),
            (Click("Questions.*"), Click("Out of memory.*")),
            (Click("Try it on your code|Your code"), Click("Does it fit.*")),
        ),
    ),
    Task(
        "What does XLA make of my own function?",
        ("your-code/#your-code",),
        ((Click("Try it on your code|Your code"),),),
        needs="article pre:has-text('xla-inspect')",
    ),
    Task(
        "Why does my function launch two kernels, and not one?",
        ("fusion/#what-stops", "questions/#not-fused"),
        ((Search("not fused"),), (Click("Fusion"), Click("What stops a fusion"))),
    ),
    Task(
        "What does each pass do to a program?",
        ("#explorer-", "explorer/#explorer-gallery", "pipeline/#explorer-"),
        (
            (Click("Step through the passes"),),
            (Click("Explorer"),),
            (Click("The pipeline"), Click("Open the explorer")),
        ),
        needs="[data-explorer] [role=listbox]",
    ),
    Task(
        "Why does it compile again and again?",
        ("questions/#recompile", "your-code/#recompiles", "when-xla-helps/#shapes"),
        (
            (Search("recompile"),),
            (Click("Try it on your code|Your code"), Click("Why does it compile again.*")),
            (Click("Questions.*"), Click("Why does it compile again.*")),
        ),
    ),
    Task(
        "Which collectives does my sharded step have, and from which line?",
        ("your-code/#collectives",),
        (
            (Click("Try it on your code|Your code"), Click("What do the devices send each other.*")),
            (Search("collectives line"),),
        ),
    ),
    Task(
        "Which line of Python is this kernel of my profile?",
        ("profile/#", "questions/#inside", "your-code/#kernels"),
        (
            (Click("From a profile to the line"),),
            (Search("kernel name in a profile"),),
            (Click("Try it on your code|Your code"), Click("What is this kernel.*")),
        ),
    ),
    Task(
        "Can I compile for a TPU that I do not have?",
        ("questions/#without-device",),
        (
            (Search("compile for TPU without having one"),),
            (Click("Questions.*"), Click("Can I compile for a GPU or TPU.*")),
        ),
    ),
    Task(
        "Why does jit give other numbers than without?",
        ("questions/#numbers", "when-xla-helps/#numerics"),
        ((Search("different numbers jit eager"),), (Click("Questions.*"), Click("Why does jit give other numbers.*"))),
    ),
    Task(
        "What becomes of attention on an H100, pass by pass?",
        ("explorer/#explorer-gallery", "gallery/#explorer-attention"),
        ((Click("Explorer"),), (Click("Gallery"), Click("Attention|[Aa]ttention"), Click("Open the explorer"))),
        needs="[data-explorer='attention'] [role=listbox], [data-explorer] [role=listbox]:has-text('priority-fusion')",
    ),
]


def walk(page: Page, way: tuple[Click | Search, ...], task: Task) -> None:
    """Go one way from home."""
    for step in way:
        if isinstance(step, Search):
            search(page, step.words, task.answers)
        else:
            find(page, step.says).click(timeout=SOON)
        page.wait_for_load_state("load")


def find(page: Page, says: str) -> Locator:
    """Return the first link or button that is seen and says what it must.

    Raises:
        AssertionError: There is none.
    """
    exactly = re.compile(rf"^\s*(?:{says})\s*$", re.IGNORECASE)
    for kind in ("link", "button"):
        shown = page.get_by_role(kind, name=exactly)
        for each in shown.all():
            if each.is_visible() and is_drawn(each):
                return each
    msg = f"nothing that is seen says {says!r}"
    raise AssertionError(msg)


def is_drawn(link: Locator) -> bool:
    """Return whether something has room in the page: what lies outside of a window that scrolls has it too."""
    box = link.bounding_box()
    return bool(box and box["width"] > 1 and box["height"] > 1 and box["x"] >= 0)


def search(page: Page, words: str, answers: tuple[str, ...]) -> None:
    """Type words into the search, and press the first result that leads to an answer.

    Raises:
        AssertionError: None of the first few does.
    """
    page.keyboard.press("/")
    page.keyboard.insert_text(words[:-1])
    page.keyboard.type(words[-1])
    results = page.locator(".md-search-result__list a:visible")
    results.first.wait_for(timeout=SOON)
    leads = results.evaluate_all("all => all.map(each => each.pathname + each.hash)")
    for result, lead in list(zip(results.all(), leads, strict=True))[:SEEN]:
        if any(matches(lead, answer) for answer in answers):
            result.click()
            page.wait_for_url(re.compile(re.escape(lead.partition("#")[0])))
            return
    msg = f"{words!r} finds {leads[:SEEN]}"
    raise AssertionError(msg)


def matches(address: str, answer: str) -> bool:
    """Return whether an address is that of an answer; `#` at an answer's end stands for any heading of the page."""
    path, _, heading = address.partition("#")
    page, _, wanted = answer.partition("#")
    return path.removeprefix("/").removesuffix("index.html") == page and wanted in ("", heading)


def is_answered(page: Page, task: Task) -> bool:
    """Return whether a heading that answers, or the explorer, is in the window, and what is needed beside it."""
    for answer in task.answers:
        path, _, heading = answer.partition("#")
        if page.evaluate("location.pathname").removeprefix("/").removesuffix("index.html") != path:
            continue
        name = heading or page.locator("article h1").get_attribute("id") or ""
        place = page.locator(f'[id^="{name}"]' if name.endswith("-") else f'[id="{name}"]').first
        try:
            place.wait_for(timeout=SOON)
            if task.needs:
                page.locator(task.needs).first.wait_for(timeout=SOON)
        except Error:
            continue
        shown = "e => { const box = e.getBoundingClientRect(); return box.top < innerHeight && box.bottom > 0 }"
        needed = page.locator(task.needs).first.evaluate(shown) if task.needs else True
        if needed and place.evaluate(shown):
            return True
    return False


def attempt(page: Page, home: str, task: Task) -> tuple[dict[int, int], list[str]]:
    """Try every way of a task; return the clicks of those that lead to an answer, by number, and why others do not."""
    done, failed = {}, []
    for number, way in enumerate(task.ways):
        clicks = len(way)
        if clicks > MOST_CLICKS or sum(isinstance(step, Search) for step in way) > MOST_SEARCHES:
            failed.append(f"way {number}: {clicks} clicks are too many")
            continue
        page.goto("about:blank")
        page.goto(home, wait_until="load")
        try:
            walk(page, way, task)
        except (AssertionError, Error) as error:
            failed.append(f"way {number}: {str(error).splitlines()[0]}")
            continue
        if is_answered(page, task):
            done[number] = clicks
        else:
            failed.append(f"way {number}: ends at {page.url}, where nothing answers")
    return done, failed


@pytest.mark.parametrize("task", TASKS, ids=[task.question for task in TASKS])
def test_an_answer_is_two_clicks_and_a_search_from_home(open_page: Opener, task: Task) -> None:
    page = open_page("")
    done, failed = attempt(page, page.url, task)
    assert done, "\n".join(failed)


def test_every_way_that_begins_with_a_search_leads_there(open_page: Opener) -> None:
    found = {}
    page = open_page("")
    home = page.url
    for task in TASKS:
        for way in task.ways:
            if isinstance(way[0], Search):
                done, failed = attempt(page, home, Task(task.question, task.answers, (way,), task.needs))
                found[way[0].words] = "" if done else failed[0]
    assert {words: why for words, why in found.items() if why} == {}
