"""What the cache lacks is compiled beside the build too; the build is the same without it."""

from __future__ import annotations

import logging
import signal
import time
from typing import TYPE_CHECKING

import pytest

from inside_xla.site_adapter import ADAPTER
from livepage import precompile
from livepage.read import project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Site

PAGE = """
# Page

```python exec="on"
import jax
from xla_inspect import capture

print(capture(lambda x: x + {number}, jax.ShapeDtypeStruct((8,), "float32")).target)
```
"""
COMPILE = logging.LogRecord("xla_inspect", logging.INFO, "", 0, "compiling layer for cpu", (), None)


@pytest.fixture
def pages(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Three pages with a compile each, of a project whose cache is empty."""
    site.write({f"docs/{name}.md": PAGE.format(number=at) for at, name in enumerate("abc")})
    monkeypatch.setenv("XLA_INSPECT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(project, "root", site.root)
    monkeypatch.setattr(project, "adapter", ADAPTER)
    return [site.root / "docs" / f"{name}.md" for name in "abc"]


@pytest.fixture
def beside(pages: list[Path]) -> Iterator[precompile.Precompile]:
    """What hears of compiles, ended at last."""
    handler = precompile.Precompile(pages)
    yield handler
    handler.end()


def count_kept(tmp_path: Path) -> int:
    return len(list((tmp_path / "cache").glob("*.gz")))


def await_true(what: str, is_so: Callable[[], bool], *, longest: float = 300) -> None:
    end = time.monotonic() + longest
    while not is_so():
        assert time.monotonic() < end, f"{what} did not come within {longest} s"
        time.sleep(0.05)


def test_the_captures_of_all_pages_are_kept_without_the_build(beside: precompile.Precompile, tmp_path: Path) -> None:
    for _ in range(precompile.FIRST):
        beside.emit(COMPILE)
    await_true("the third capture", lambda: count_kept(tmp_path) == 3)


def test_a_build_that_finds_its_captures_starts_nothing(beside: precompile.Precompile) -> None:
    for _ in range(precompile.FIRST - 1):
        beside.emit(COMPILE)
    assert beside.process is None


def test_one_core_is_left_to_the_build(beside: precompile.Precompile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precompile, "count_cores", lambda: 1)
    for _ in range(precompile.FIRST):
        beside.emit(COMPILE)
    assert beside.process is None


def test_it_ends_with_the_build_however_this_ends(
    beside: precompile.Precompile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build that is killed closes the pipe; so does the end of a build, be it one that ignores interrupts."""
    beside.pages[1].write_text('# Page\n\n```python exec="on"\nwhile True: pass\n```\n', encoding="utf-8")
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        for _ in range(precompile.FIRST):
            beside.emit(COMPILE)
    finally:
        signal.signal(signal.SIGINT, before)
    await_true("the capture of the last page", lambda: count_kept(tmp_path) == 1)
    started = time.monotonic()
    monkeypatch.setattr(precompile, "LONGEST", 20)
    beside.end()
    assert time.monotonic() - started < precompile.LONGEST
