"""A run of an edited program is held to limits, and what goes over one is ended and told; the next edit is answered."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from livepage.edits.page_child import Limits, PageChild
from livepage.edits.project_copy import ProjectCopy

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from conftest import Site

FILE = "snippets/helper.py"
FILES = {
    FILE: "def f():\n    return 6\n",
    "docs/index.md": """
        # Home

        The answer is `= 6 * 7`.

        ```python exec="on"
        import helper
        print("It is", helper.f())
        ```

        ```python check="It is even"
        assert helper.f() % 2 == 0
        ```
    """,
}

type Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(site: Site) -> Generator[Run]:
    """Run the page with an edit, and return the last that is told of it."""
    site.write(FILES)
    copy = ProjectCopy(site.root, {})
    children: list[PageChild] = []

    def run(code: str | None, limits: Limits | None = None) -> dict[str, Any]:
        if not children or limits:
            children.append(PageChild(copy, site.root, limits or Limits()))
        copy.put(FILE, FILES[FILE])
        job = {"page": "index.md", "file": FILE, "text": code, "job": 1}
        return [event for event in children[-1].run(job, threading.Event()) if event][-1]

    yield run
    for child in children:
        child.end()
    copy.remove()


def test_a_page_is_made_with_what_an_edit_makes_of_it(run: Run, site: Site) -> None:
    assert run(None)["event"] == "ready"
    told = run("def f():\n    return 7\n")
    assert told["event"] == "page"
    assert "It is 7" in told["content"]
    assert (told["ran"], told["pieces"]) == (2, 3)
    assert [(each["kind"], each["is_false"]) for each in told["failures"]] == [("check", True)]
    assert (site.root / FILE).read_text() == FILES[FILE]


def test_an_edit_of_the_same_length_in_the_same_second_counts(run: Run) -> None:
    for number in range(3, 9):
        assert f"It is {number}" in run(f"def f():\n    return {number}\n")["content"]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("while True: pass\n", "time"),
        ("held = [bytearray(b'x' * 2**28) for _ in range(40)]\n", "memory"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n", "crash"),
        ("import os, signal\nos.killpg(0, signal.SIGKILL)\n", "crash"),
        ("import ctypes\nctypes.string_at(0)\n", "crash"),
        ("def f(): return f()\nf()\n", "program"),
        ("import os\nos._exit(3)\n", "program"),
        ("raise KeyError('x')\n", "program"),
        ("open('big', 'wb').write(b'x' * 2**26)\n", "program"),
    ],
)
def test_a_run_that_goes_over_a_limit_is_ended_and_the_next_is_answered(run: Run, code: str, kind: str) -> None:
    told = run(code, Limits(seconds=60 if kind != "time" else 6, memory=2**30, output=2**24))
    assert (told["event"], told["kind"]) == ("failed", kind), told
    assert "It is 8" in run("def f():\n    return 8\n", Limits())["content"]


def test_a_run_that_nobody_wants_any_longer_is_stopped(site: Site) -> None:
    site.write({FILE: FILES[FILE], "docs/index.md": '# Home\n\n```python exec="on"\nimport helper\n```\n'})
    copy = ProjectCopy(site.root, {})
    child, is_over = PageChild(copy, site.root, Limits()), threading.Event()
    job = {"page": "index.md", "file": FILE, "text": "while True: pass\n", "job": 1}
    timer = threading.Timer(3, is_over.set)
    timer.start()
    told = [*child.run(job, is_over)]
    assert told[-1] == {"event": "superseded"}
    child.end()
    copy.remove()
