"""A served site is available at once; slow pages follow, and the open page comes first."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from livepage.keep import Inputs
from livepage.read import project
from livepage.serve import PagesPending
from livepage.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Server

PAGE = """# {name}

```python exec="on"
import tool

print(tool.work("{name}"))
```

Before `= tool.work("{name}")`.
"""
FAILING = '# Bad\n\n```python exec="on"\nimport tool\n\nprint(tool.missing)\n```\n'
NAMES = ["one", "two", "three", "four"]


def text_of(page: str) -> str:
    return re.sub(r"<[^>]*>", "", page)


def test_every_page_can_be_read_before_anything_ran_and_fills_itself_in(
    serve: Callable[[dict[str, str]], Server],
) -> None:
    server = serve({f"docs/{name}.md": PAGE.format(name=name) for name in NAMES})
    for name in NAMES:
        page = server.get(f"{name}/", 'class="waiting"')
        assert "Before (still runs)." in text_of(page)
        assert f'print(tool.work("{name}"))' in text_of(page).replace("&quot;", '"')
        assert "is done" not in page
    progress = json.loads(server.get("livereload/progress", "share"))
    assert progress["share"] == 0
    assert "0 of 4 pages done" in progress["text"]
    first = min(NAMES)  # as the navigation lists them
    server.let(first)
    server.get(f"{first}/", f"{first} is done")
    assert json.loads(server.get("livereload/progress", "1 of 4 pages done"))["share"] == 1 / len(NAMES)
    for name in NAMES:
        server.let(name)
    for name in NAMES:
        page = server.get(f"{name}/", "is done")
        assert "waiting" not in page
        assert f"Before {name} is done." in text_of(page)
    assert json.loads(server.get("livereload/progress", '"share": 1'))["share"] == 1
    assert "livereload/progress.js" in server.get("one/", "is done")


def test_the_page_that_is_open_comes_before_those_above_it(serve: Callable[[dict[str, str]], Server]) -> None:
    server = serve({f"docs/{at}.md": PAGE.format(name=f"p{at}") for at in range(10, 20)})
    server.get("18/", 'class="waiting"')  # as many run by now as there are processes, and the others wait
    for at in range(10, 14):
        server.let(f"p{at}")
    server.let("p18")
    server.get("18/", "p18 is done")
    for at in (16, 17):
        server.get(f"{at}/", 'class="waiting"')


@pytest.mark.parametrize(
    ("visits", "at_once"),
    [([], []), (["one.md"], ["one.md"]), (["two.md"], [])],
    ids=["nobody looks", "somebody looks at it", "somebody looks at another"],
)
def test_a_page_that_arrives_is_shown_at_once_where_somebody_looks_and_all_with_the_last(
    visits: list[str], at_once: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pending, arrivals = arrive(monkeypatch)
    for page in visits:
        pending.prefer(page)
    pending._hear("docs/one.md")  # noqa: SLF001 - what the processes say of a page that ran
    assert arrivals == at_once
    pending._hear("docs/two.md")  # noqa: SLF001 - as above
    assert arrivals == [*at_once, "one.md", "two.md"]


def test_a_page_that_ran_is_shown_when_somebody_opens_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pending, arrivals = arrive(monkeypatch)
    pending._hear("docs/one.md")  # noqa: SLF001 - as above
    pending.prefer("one.md")
    assert arrivals == ["one.md"]


def arrive(monkeypatch: pytest.MonkeyPatch) -> tuple[PagesPending, list[str]]:
    """Return `PagesPending` that waits for two pages, and the list to which it adds finished pages."""
    monkeypatch.setattr(project, "docs", Path("docs"))
    monkeypatch.setattr(Workers, "start", lambda _: None)
    pending, arrivals = PagesPending(), list[str]()
    pending.tell(arrivals.extend)
    pending._asked = {f"docs/{name}.md": Inputs() for name in ("one", "two")}  # noqa: SLF001 - as a build leaves it
    return pending, arrivals


@pytest.mark.long("authors alone see it; otherwise a sentence and a block are edited")
def test_a_failing_page_shows_its_error_until_it_is_fixed(serve: Callable[[dict[str, str]], Server]) -> None:
    server = serve({"docs/bad.md": FAILING, "docs/worse.md": FAILING})
    page = server.get("bad/", "did not run")
    assert "waiting" not in page
    server.get("worse/", "did not run")
    counts = [-1]
    while len(counts) < 40 and counts[-6:] != counts[-1:] * 6:  # two that fail must not let each other run for ever
        time.sleep(1)
        counts.append(server.log.read_text(encoding="utf-8").count("docs/bad.md:6: AttributeError"))
    assert counts[-6:] == counts[-1:] * 6
    server.let("mended")
    (server.site.root / "docs/bad.md").write_text(PAGE.format(name="mended"), encoding="utf-8")
    server.get("bad/", "mended is done")


def test_a_pending_anchor_is_not_reported_and_a_missing_one_is(
    serve: Callable[[dict[str, str]], Server],
) -> None:
    printing = PAGE.format(name="one").replace(
        'print(tool.work("one"))', 'print("## There { #" + tool.work("one")[:3] + " }")'
    )
    server = serve({"docs/a.md": "# A\n\n[there](one.md#one) and [nowhere](one.md#none).\n", "docs/one.md": printing})
    server.get("one/", 'class="waiting"')
    assert "does not contain an anchor" not in server.log.read_text(encoding="utf-8")
    server.let("one")
    server.get("one/", "There")
    server.get("livereload/progress", '"share": 1')
    end = time.monotonic() + 30
    while "'#none'" not in (log := server.log.read_text(encoding="utf-8")):
        assert time.monotonic() < end
        time.sleep(0.1)
    assert "docs/a.md:3" in log
    assert "'#one'" not in log


def test_an_edit_of_a_page_that_still_runs_is_shown_and_then_run(serve: Callable[[dict[str, str]], Server]) -> None:
    server = serve({"docs/one.md": PAGE.format(name="one")})
    server.get("one/", 'class="waiting"')
    (server.site.root / "docs/one.md").write_text(PAGE.format(name="other") + "\nMore.\n", encoding="utf-8")
    server.get("one/", "More.")
    server.let("one")
    server.let("other")
    server.get("one/", "other is done")


def test_the_log_names_each_page_that_is_shown_and_nothing_else(serve: Callable[[dict[str, str]], Server]) -> None:
    server = serve({f"docs/{name}.md": PAGE.format(name=name) for name in NAMES})
    for name in NAMES:
        server.let(name)
    for name in NAMES:
        server.get(f"{name}/", f"{name} is done")
    before = server.log.read_text(encoding="utf-8")
    page = server.site.root / "docs" / "one.md"
    page.write_text(f"{page.read_text(encoding='utf-8')}\nMore.\n", encoding="utf-8")
    server.get("one/", "More.")
    end, log = time.monotonic() + 30, ""
    while "one.md is shown after" not in log and time.monotonic() < end:  # the line follows the page
        log = server.log.read_text(encoding="utf-8").removeprefix(before)
    assert "one.md is shown after" in log
    # The last line of another page may be late.
    assert [line for line in log.splitlines() if not re.search(r"\w+\.md is shown after", line)] == []
