"""How soon an edited sentence is on the screen, beside the time in which plain MkDocs rebuilds the same text.

Each edit of a chapter is paired with a rebuild by plain MkDocs, of what the blocks of the site printed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

from common import ROOT, say

if TYPE_CHECKING:
    from collections.abc import Iterator

PORT = 8791
TIMES = 100
"""How many edits a server stands without growing."""
MEDIAN, MOST, GROWTH = 0.10, 0.20, 0.05
"""What is allowed: shares of a rebuild by plain MkDocs, and of the server's memory."""

_ANSWER = "\n{ .answer }\n"
_SENTENCE = "A sentence that was not here, number {}."


def measure(place: Path, cache: Path) -> None:
    """Edit chapters of a copy of the site while `mkdocs serve` shows it, and print what it takes.

    Args:
        place: The folder of the benchmark, which holds the plain text of the site and its configuration.
        cache: That of the captures.
    """
    copy = place / "copy"
    copy_site(copy)
    for kept in ("pages", "explorer"):
        with contextlib.suppress(FileNotFoundError):  # or its pages run once more
            shutil.copytree(ROOT / ".cache" / kept, copy / ".cache" / kept)
    chapters = [path for path in sorted((copy / "docs").glob("*.md")) if _ANSWER in path.read_text(encoding="utf-8")]
    ratios = []
    with serve(copy, cache) as server, _rebuild_plainly(place) as plain:
        await_text("livereload/progress", '"share": 1', longest=1800)
        start = _weigh(server)
        for number, path in enumerate(chapters):
            took = _edit(path, number)
            floor = _ask(plain, f"{path.name} {number}")
            ratios.append(took / floor)
            say(f"{path.stem}: shown after {took:.2f} s, plain MkDocs {floor:.2f} s: {ratios[-1]:.3f}")
        # A kept page is read for the first time when it is edited: from now on nothing should be added.
        before = _weigh(server)
        for number in range(len(chapters), len(chapters) + TIMES):
            _edit(chapters[number % len(chapters)], number)
        after = _weigh(server)
    say(f"an edit, of plain MkDocs: {statistics.median(ratios):.3f} in the median, {max(ratios):.3f} at most")
    say(f"(at most {MEDIAN} and {MOST})")
    growth = after / before - 1
    say(f"memory: {start:.0f} MB at the start, {before:.0f} once each chapter was edited")
    say(f"after {TIMES} edits more: {after:.0f} MB, {growth:+.1%} (at most {GROWTH:.0%})")


def copy_site(copy: Path) -> None:
    """Copy the project's files, and nothing that was made of them."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(lambda name: (ROOT / name).is_file(), listed.splitlines()):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy / name)


@contextlib.contextmanager
def serve(copy: Path, cache: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Serve a copy of the site, from when its home page is there."""
    folders = os.pathsep.join([str(copy / "snippets"), str(copy / "scripts")])
    command = [sys.executable, "-m", "mkdocs", "serve", "--no-strict", "--quiet", f"--dev-addr=127.0.0.1:{PORT}"]
    environment = {**os.environ, "PYTHONPATH": folders, "XLA_INSPECT_CACHE": str(cache)}
    none = subprocess.DEVNULL
    with subprocess.Popen(command, cwd=copy, env=environment, stdout=none, stderr=none) as server:
        try:
            await_text("", "<title>", longest=1800)
            yield server
        finally:
            server.terminate()


@contextlib.contextmanager
def _rebuild_plainly(place: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "measuring.edit_costs", str(place)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as plain:
        try:
            _ask(plain, "index.md first")
            yield plain
        finally:
            plain.terminate()


def _ask(plain: subprocess.Popen[str], edit: str) -> float:
    """Return the seconds that plain MkDocs takes to rebuild after an edit."""
    assert plain.stdin  # noqa: S101 - as it was started
    assert plain.stdout  # noqa: S101 - as it was started
    plain.stdin.write(f"{edit}\n")
    plain.stdin.flush()
    return float(plain.stdout.readline())


def _edit(path: Path, number: int) -> float:
    """Add a sentence to a chapter, and return the seconds until it is shown, once the server rests again."""
    address = "" if path.stem == "index" else f"{path.stem}/"
    _add_sentence(path, number)
    took = await_text(address, _SENTENCE.format(number), longest=120)
    await_text("llms.txt", "# ", longest=600)  # which waits for the end of the rebuild
    return took


def _add_sentence(path: Path, number: object) -> None:
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(_ANSWER, f"{_ANSWER}\n{_SENTENCE.format(number)}\n", 1), encoding="utf-8")


def await_text(page: str, text: str, *, longest: float) -> float:
    """Return the seconds until the server shows a text on a page, or stop after the longest that it may take.

    It is asked a hundred times a second at first, and more and more seldom, so that asking is not what takes the time.
    """
    start = time.perf_counter()
    while (passed := time.perf_counter() - start) < longest:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{PORT}/{page}") as answer:
            if text in answer.read().decode():
                return time.perf_counter() - start
        time.sleep(min(max(0.01, passed / 100), 1))
    sys.exit(f"the server did not show {text!r} on {page or 'the home page'} within {longest:.0f} s")


def _weigh(server: subprocess.Popen[bytes]) -> float:
    """Return the memory of a process in megabytes."""
    kilobytes = subprocess.run(["ps", "-o", "rss=", "-p", str(server.pid)], capture_output=True, check=True).stdout
    return int(kilobytes) / 1024


def _answer(place: Path) -> None:
    """Rebuild the plain text after each edit that the standard input names, as `mkdocs serve` does it."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    for line in sys.stdin:
        name, number = line.split()
        _add_sentence(place / "docs" / name, number)
        start = time.perf_counter()
        config = load_config(str(place / "plain.yml"), site_dir=str(place / "plain-served"), strict=False)
        build(config, serve_url=f"http://127.0.0.1:{PORT}/")
        sys.stdout.write(f"{time.perf_counter() - start}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _answer(Path(sys.argv[1]))
