"""Slow pages run in worker processes, once each, with the same result as without workers."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mkdocs.config import load_config

from livepage import workers
from livepage.keep import page_store
from livepage.read import Adapter, log, project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Site

PROJECT = Path(__file__).resolve().parents[2]
HEAD = "# Page\n\n"
TOOL = {
    "snippets/tool/__init__.py": "def count(number):\n    return f'{number} pages'\n",
    "snippets/own_adapter.py": """
        from livepage.read import Adapter

        class Own(Adapter):
            packages = ("tool",)

        ADAPTER = Own()
        """,
}
CONFIG = "\nmarkdown_extensions:\n  livepage.extension: {adapter: own_adapter}\n"
PAGE = """
```python exec="on"
import tool

print(tool.count({number}))
```
"""
LEAVING = """
```python exec="on"
import os
import tool

os.kill(os.getpid(), {signal})
```
"""
ENDLESS = """
```python exec="on"
from pathlib import Path
import tool

Path({path!r}).write_text("begun")
while True:
    pass
```
"""


@pytest.fixture
def tooled(site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Site]]:
    """A function that writes pages of a site with a slow tool, whose pages run in worker processes."""
    folders = [str(site.root / "snippets"), str(PROJECT / "scripts")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(folders))
    monkeypatch.setattr(project, "root", site.root)

    def write(**pages: str) -> Site:
        site.write({f"docs/{name}.md": HEAD + text for name, text in pages.items()} | TOOL)
        config = site.root / "mkdocs.yml"
        config.write_text(config.read_text(encoding="utf-8") + CONFIG, encoding="utf-8")
        return site

    yield write
    for name in ("tool", "own_adapter"):
        sys.modules.pop(name, None)


@pytest.fixture
def pool(tooled: Callable[..., Site], monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., workers.Workers]]:
    """A function that starts the worker processes for a site's pages, and ends them after the test."""
    started: list[workers.Workers] = []
    # An earlier test may have set another adapter, whose description of the machine is part of each key.
    monkeypatch.setattr(project, "adapter", Adapter())

    def start(**pages: str) -> workers.Workers:
        tooled(**pages)
        names = [f"docs/{name}.md" for name in pages]
        started.append(workers.Workers(names, waiting=set(names)))
        return started[0]

    yield start
    for one in started:
        one.end()


def texts(answer: workers.Answer | None) -> list[str]:
    assert answer is not None
    assert answer.failure is None
    return [outcome.text for outcome in answer.outcomes]


def test_the_requested_page_comes_first_and_later_ones_are_prepared(
    pool: Callable[..., workers.Workers],
) -> None:
    pages = pool(a=PAGE.format(number=1), b=PAGE.format(number=2), c=PAGE.format(number=3))
    assert texts(pages.obtain("docs/a.md")) == ["1 pages\n"]
    assert texts(pages.obtain("docs/c.md")) == ["3 pages\n"]
    assert texts(pages.obtain("docs/b.md")) == ["2 pages\n"]
    assert [page_store.seems_kept(f"docs/{name}.md") for name in "abc"] == [True, True, True]


def test_a_page_that_ends_its_process_fails_with_its_line_and_the_next_page_runs(
    pool: Callable[..., workers.Workers], capfd: pytest.CaptureFixture[str]
) -> None:
    pages = pool(a=LEAVING.format(signal=9), b=PAGE.format(number=2))
    answer = pages.obtain("docs/a.md")
    assert answer is not None
    assert str(answer.failure) == "docs/a.md:8: this line ended the process, with signal 9"
    assert texts(pages.obtain("docs/b.md")) == ["2 pages\n"]
    assert capfd.readouterr().err == ""


def test_a_build_fails_for_the_line_that_ended_a_process(
    tooled: Callable[..., Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tooled(a=LEAVING.format(signal=11), b=PAGE.format(number=2))
    [hook] = load_config(str(site.root / "mkdocs.yml")).hooks.values()
    monkeypatch.setattr(hook, "_site", hook._Site(command="build"))  # noqa: SLF001 - as `mkdocs build` leaves it
    assert site.build() == ["docs/a.md:8: this line ended the process, with signal 11"]
    assert "did not run" in site.html("a")
    assert "2 pages" in site.html("b")


def test_pages_run_in_the_order_of_reading_and_the_one_that_was_opened_last_first() -> None:
    pages = workers.Workers(["home", "pipeline", "fusion", "sharding", "glossary"])
    for page in ("glossary", "home", "sharding", "fusion"):
        pages.ask(page)
    for page in ("sharding", "pipeline", "fusion"):
        pages.prefer(page)
    pages.ask("pipeline")
    order = []
    while pages.waiting:
        order.append(pages.choose())
        pages.waiting.remove(order[-1])
    assert order == ["fusion", "sharding", "home", "pipeline", "glossary"]


@pytest.mark.parametrize("tool", ["import tool\n", ""], ids=["slow work", "none"])
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 1), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_the_processes_end_with_a_build_that_is_stopped(
    tooled: Callable[..., Site], tmp_path: Path, number: signal.Signals, code: int, tool: str
) -> None:
    site = tooled(a=ENDLESS.format(path=str(tmp_path / "begun")).replace("import tool\n", tool))
    command = [sys.executable, "-m", "mkdocs", "build"]
    build = subprocess.Popen(command, cwd=site.root, stderr=subprocess.PIPE, text=True, start_new_session=True)
    await_true((tmp_path / "begun").exists)
    assert len(list_processes(site.root)) > 0
    build.send_signal(number)
    assert "Traceback" not in build.communicate(timeout=60)[1]
    assert build.returncode == code
    await_true(lambda: not list_processes(site.root))
    assert not (site.root / "site/built.json").exists()


def test_a_quiet_strict_build_still_fails(tooled: Callable[..., Site]) -> None:
    site = tooled(a='```python check="Four"\nfour = 3\nassert four == 4\n```\n')
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    result = subprocess.run(command, cwd=site.root, check=False, capture_output=True, text=True)
    assert result.returncode == 1
    assert "docs/a.md:5: AssertionError: left was 3, right was 4" in result.stderr


def list_processes(folder: Path) -> list[str]:
    """Return the ids of the worker processes whose current folder is this one."""
    processes = subprocess.run(["ps", "-A", "-o", "pid=,args="], capture_output=True, text=True, check=True).stdout
    listed = [line.split()[0] for line in processes.splitlines() if "livepage.worker" in line]
    there = []
    for number in listed:
        with contextlib.suppress(OSError):  # it has ended since
            if Path(f"/proc/{number}/cwd").readlink() == folder:
                there.append(number)
    return there


def await_true(is_so: Callable[[], bool], *, longest: float = 60) -> None:
    end = time.monotonic() + longest
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_log_messages_of_a_worker_are_forwarded(
    pool: Callable[..., workers.Workers], caplog: pytest.LogCaptureFixture
) -> None:
    reading = PAGE.format(number=1).replace("print(", "import time; time.time(); print(")
    with caplog.at_level(logging.INFO, log.name):
        assert texts(pool(a=reading).obtain("docs/a.md")) == ["1 pages\n"]
    assert "docs/a.md is not kept: it read the clock" in caplog.messages
    assert not page_store.seems_kept("docs/a.md")


TELLING = """
```python exec="on"
import os
import tool

print(tool.count({number}), "by", os.getpid())
```
"""


def edit(name: str, old: str, new: str) -> None:
    page = project.root / "docs" / f"{name}.md"
    page.write_text(page.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def test_an_edited_page_goes_to_the_process_that_ran_it(pool: Callable[..., workers.Workers]) -> None:
    pages = pool(a=TELLING.format(number=1))
    [first] = texts(pages.obtain("docs/a.md"))
    for number in (2, 3, 4):
        edit("a", f"count({number - 1})", f"count({number})")
        assert texts(pages.obtain("docs/a.md")) == [first.replace("1 pages", f"{number} pages")]
