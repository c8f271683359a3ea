"""The times of a served site: until a fresh clone can be read, and until an edited sentence is on the screen.

A first start is paired with a cold build of the same clone. An edit of a chapter is paired with a rebuild by plain
MkDocs of the text that the blocks of the site printed.
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
from measuring.paired_runs import call_python, print_ratios, time_work
from xla_inspect.process import Child, measure_own_memory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PORT = 8791
TIMES = 100
"""The number of edits during which a server's memory must not grow."""
HOME, ALL = 0.1, 1.1
"""The printed limits for a first start, in multiples of a cold build: until the home page is shown, and all pages."""
MEDIAN, MOST, GROWTH = 0.10, 0.20, 0.05
"""The printed limits for an edit: shares of a rebuild by plain MkDocs, and of the server's memory."""

_ANSWER = "\n{ .answer }\n"
_SENTENCE = "A sentence that was not here, number {}."
_REBUILD = "from measuring.served_site import rebuild_plain; rebuild_plain()"


def time_first_starts(place: Path, runs: int) -> None:
    """Serve a fresh copy of the site and build it from nothing, `runs` times, and print the ratios of the times."""
    homes, wholes = [], []
    for run in range(runs):
        copy = place / f"first-{run}"
        copy_site(copy)
        variables = list_variables(copy, copy / ".cache" / "xla_inspect")
        start = time.perf_counter()
        with serve(copy, variables):
            home = time.perf_counter() - start
            await_text("livereload/progress", '"share": 1', longest=3600)
            whole = time.perf_counter() - start
        # The cold build of the same copy must not find the results of the server.
        shutil.rmtree(copy / ".cache")
        cold, _ = time_work(lambda: call_python("-m", "mkdocs", "build", "--quiet", folder=copy, **variables))  # noqa: B023 - called at once
        shutil.rmtree(copy)
        homes.append(home / cold)
        wholes.append(whole / cold)
        say(f"first start {run + 1}: home after {home:.1f} s, all after {whole:.1f} s; a cold build {cold:.1f} s")
    print_ratios("the home page", homes, "a cold build", HOME)
    print_ratios("all of the site", wholes, "a cold build", ALL)


def time_edits(place: Path) -> None:
    """Edit chapters of a copy of the site while `mkdocs serve` shows it, and print the times and the memory.

    Args:
        place: The folder of the benchmark, with the plain text of the site and its configuration, and the cache of
            captures if a build was measured.
    """
    copy, cache = place / "copy", place / "cache"
    cache = cache if cache.is_dir() else ROOT / ".cache" / "xla_inspect"
    copy_site(copy)
    for store in ("pages", "explorer"):
        with contextlib.suppress(FileNotFoundError):  # without stored pages, the pages run again
            shutil.copytree(ROOT / ".cache" / store, copy / ".cache" / store)
    chapters = [path for path in sorted((copy / "docs").glob("*.md")) if _ANSWER in path.read_text(encoding="utf-8")]
    ratios = []
    with (
        serve(copy, list_variables(copy, cache)) as server,
        Child([sys.executable], _REBUILD, [str(place)], folder=ROOT) as plain,
    ):
        await_text("livereload/progress", '"share": 1', longest=1800)
        ask_plain(plain, "index.md first")
        start = measure_own_memory(server.pid)
        for number, path in enumerate(chapters):
            seconds = edit(path, number)
            floor = ask_plain(plain, f"{path.name} {number}")
            ratios.append(seconds / floor)
            say(f"{path.stem}: shown after {seconds:.2f} s, plain MkDocs {floor:.2f} s: {ratios[-1]:.3f}")
        # The first edit of a chapter loads its stored page into memory; from now on memory should not grow.
        before = measure_own_memory(server.pid)
        for number in range(len(chapters), len(chapters) + TIMES):
            edit(chapters[number % len(chapters)], number)
        after = measure_own_memory(server.pid)
    say(f"an edit, of plain MkDocs: {statistics.median(ratios):.3f} in the median, {max(ratios):.3f} at most")
    say(f"(at most {MEDIAN} and {MOST})")
    say(f"memory: {start / 1e6:.0f} MB at the start, {before / 1e6:.0f} once each chapter was edited")
    say(f"after {TIMES} edits more: {after / 1e6:.0f} MB, {after / before - 1:+.1%} (at most {GROWTH:.0%})")


def copy_site(copy: Path) -> None:
    """Copy the project's tracked files, without generated ones."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(lambda name: (ROOT / name).is_file(), listed.splitlines()):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy / name)


def list_variables(copy: Path, cache: Path) -> dict[str, str]:
    """Return the environment in which a copy of the site runs its own modules and caches captures in a folder."""
    folders = os.pathsep.join([str(copy / "snippets"), str(copy / "scripts")])
    return {"PYTHONPATH": folders, "XLA_INSPECT_CACHE": str(cache)}


@contextlib.contextmanager
def serve(copy: Path, variables: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Serve a copy of the site; the block begins when its home page is available."""
    command = [sys.executable, "-m", "mkdocs", "serve", "--quiet", f"--dev-addr=127.0.0.1:{PORT}"]
    none = subprocess.DEVNULL
    with subprocess.Popen(command, cwd=copy, env={**os.environ, **variables}, stdout=none, stderr=none) as server:
        try:
            await_text("", "<title>", longest=1800)
            yield server
        finally:
            server.terminate()


def ask_plain(plain: Child, edit: str) -> float:
    """Make the process of plain MkDocs edit a page and rebuild; return the seconds that it took."""
    plain.send(edit)
    return float(plain.listen(600))


def edit(path: Path, number: int) -> float:
    """Add a sentence to a chapter, await the whole rebuild, and return the seconds until the sentence was shown."""
    address = "" if path.stem == "index" else f"{path.stem}/"
    add_sentence(path, number)
    seconds = await_text(address, _SENTENCE.format(number), longest=120)
    await_text("llms.txt", "# ", longest=600)  # this request waits for the end of the rebuild
    return seconds


def add_sentence(path: Path, number: object) -> None:
    """Write a sentence after the first answer of a chapter."""
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(_ANSWER, f"{_ANSWER}\n{_SENTENCE.format(number)}\n", 1), encoding="utf-8")


def await_text(page: str, text: str, *, longest: float) -> float:
    """Return the seconds until the server shows a text on a page, or exit after the longest allowed time.

    The server is polled a hundred times a second at first and then less often, so that polling does not slow it down.
    """
    start = time.perf_counter()
    while (passed := time.perf_counter() - start) < longest:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{PORT}/{page}") as answer:
            if text in answer.read().decode():
                return time.perf_counter() - start
        time.sleep(min(max(0.01, passed / 100), 1))
    sys.exit(f"the server did not show {text!r} on {page or 'the home page'} within {longest:.0f} s")


def rebuild_plain() -> None:
    """Make each edit from standard input, rebuild the plain text as `mkdocs serve` does, and print the seconds."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    place = Path(sys.argv[1])
    for line in sys.stdin:
        name, number = line.split()
        add_sentence(place / "docs" / name, number)
        start = time.perf_counter()
        config = load_config(str(place / "plain.yml"), site_dir=str(place / "plain-served"), strict=False)
        build(config, serve_url=f"http://127.0.0.1:{PORT}/")
        print(time.perf_counter() - start, flush=True)
