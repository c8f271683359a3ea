"""What the site costs beside the least that it could cost, both measured in the same run.

Each figure is the median of paired runs: the thing, then its floor, over and over, so that a machine whose speed
drifts slows both. A cold build's floor is a bare script that makes the same compiles, and a plain MkDocs build of the
text that the blocks printed. A warm build's floor is that plain build, and a bare import of JAX and MkDocs. That of a
first start is a cold build.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from common import ROOT, say
from measuring import (
    bare_compiles,
    dump_costs,
    edit_costs,
    edit_results,
    explorer_sizes,
    first_start,
    log_costs,
    play_costs,
    scale,
    typing_trial,
)  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from livepage.read import Outcome, Piece, Source

OWN: dict[str, Callable[[Sequence[str]], int]] = {
    "scale": scale.main,
    "explorer": explorer_sizes.main,
    "dump": dump_costs.main,
    "play": play_costs.main,
    "typist": typing_trial.main,
    "edits-to-result": edit_results.main,
}
"""Benchmarks that take options of their own."""

BUILD = [sys.executable, "-m", "mkdocs", "build", "--quiet"]
LIVE = re.compile(r"\s*(?:hooks|watch|markdown-exec|livepage\.extension):")


def main() -> None:
    """Measure and print what was asked for."""
    if own := OWN.get(" ".join(sys.argv[1:2])):
        sys.exit(own(sys.argv[2:]))
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument(
        "what",
        nargs="*",
        help=f"first, cold, warm, edit, parser, page, reasons; all by default; or {', '.join(OWN)} alone",
    )
    parser.add_argument("--runs", type=int, default=5, help="paired runs of each (default: 5)")
    asked = parser.parse_args()
    known = {
        "first": first,
        "cold": cold,
        "warm": warm,
        "edit": edit,
        "parser": parse,
        "page": page,
        "reasons": reasons,
    }
    if unknown := [name for name in asked.what if name not in known]:
        parser.error(f"no benchmark {unknown[0]!r}; there are {', '.join(known)}")
    os.environ["NO_MKDOCS_2_WARNING"] = "1"
    # Everything is measured with its byte code in place, as on a machine that used it before.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        say(f"reading the site once, for its programs and its text ({asked.runs} paired runs follow)")
        if asked.what == ["edit"]:
            read(place)
        elif asked.what not in (["first"], ["reasons"]):
            prepare(place)
        for name in asked.what or known:
            known[name](place, asked.runs)


def cold(place: Path, runs: int) -> None:
    """Build with nothing kept, beside the same compiles and runs and a plain build."""
    cache = place / "cold"

    def build() -> None:
        shutil.rmtree(cache, ignore_errors=True)
        call([*BUILD, "--site-dir", str(place / "site")], XLA_INSPECT_CACHE=str(cache), LIVE="all")

    least = {"bare compiles": lambda: bare(place), "plain MkDocs": lambda: plain(place)}
    compare("cold build", runs, (1.05, 1.3), build, least)


def warm(place: Path, runs: int) -> None:
    """Build with nothing changed since the last build, beside a bare import and a plain build."""

    def build() -> None:
        call([*BUILD, "--site-dir", str(place / "site")], XLA_INSPECT_CACHE=str(place / "cache"))

    build()
    code = "import jax, jaxlib, mkdocs"
    least = {"bare import": lambda: call([sys.executable, "-c", code]), "plain MkDocs": lambda: plain(place)}
    compare("warm build", runs, (1.2, 1.2), build, least)


def first(place: Path, runs: int) -> None:
    """Serve a fresh clone until its home page, and then all of it, is there, beside a cold build."""
    first_start.measure(place, runs)


def edit(place: Path, runs: int) -> None:
    """Edit a sentence on each chapter while the site is served, beside plain MkDocs on the same text."""
    del runs  # each chapter is a pair
    edit_costs.measure(place, place / "cache" if (place / "cache").is_dir() else ROOT / ".cache" / "xla_inspect")


def parse(place: Path, runs: int) -> None:
    """Read every captured module of the site."""
    from xla_inspect.hlo import parse_module as read

    texts = json.loads((place / "texts").read_text(encoding="utf-8"))
    instructions = sum(read(text).instruction_count() for text in texts)
    rates = []
    for _ in range(runs):
        start = time.perf_counter()
        for text in texts:
            read(text)
        rates.append(instructions / (time.perf_counter() - start))
    rate = statistics.median(rates)
    say(f"parser: {rate:,.0f} instructions a second over {instructions:,} (at least 60,000)")


def reasons(place: Path, runs: int) -> None:
    """Compile with the compilers' logs, beside the same compiles without."""
    del place
    log_costs.measure(runs)


def page(place: Path, runs: int) -> None:
    """Show the chapter to Lighthouse, over a server that compresses."""
    say("Lighthouse on the chapter, as on a phone")
    tests = [sys.executable, "-m", "pytest", "-q", "-s", "tests/browser/test_lighthouse.py"]
    call(tests, quiet=False, LIGHTHOUSE_RUNS=str(runs), SITE_DIR=str(place / "site"))


def compare(
    name: str, runs: int, limits: tuple[float, float], build: Callable[[], None], least: dict[str, Callable[[], None]]
) -> None:
    """Time a build beside the sum of its floor's parts, on the clock and of the processor, and print median ratios."""
    ratios: list[tuple[float, float]] = []
    for turn in range(runs):
        built = seconds(build)
        parts = {part: seconds(work) for part, work in least.items()}
        floor = [sum(times) for times in zip(*parts.values(), strict=True)]
        ratios.append((built[0] / floor[0], built[1] / floor[1]))
        of = ", ".join(f"{part} {clock:.2f} s ({cpu:.2f})" for part, (clock, cpu) in parts.items())
        say(f"{name}, pair {turn + 1}: {built[0]:.2f} s ({built[1]:.2f} of the processor) beside {of}")
    for what, limit, each in zip(("on the clock", "of the processor"), limits, zip(*ratios, strict=True), strict=True):
        listed = ", ".join(f"{ratio:.2f}" for ratio in each)
        say(f"{name}, {what}: {statistics.median(each):.2f} times the floor (at most {limit}; {listed})")


def seconds(work: Callable[[], None]) -> tuple[float, float]:
    """Return the seconds that a call takes, on the clock and of the processor in the processes that it starts."""
    start, before = time.perf_counter(), os.times()
    work()
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - start, used


def bare(place: Path) -> None:
    """Compile every program of the site in a fresh process."""
    call([sys.executable, "-m", "measuring.bench", "--compile", str(place / "work")])


def plain(place: Path) -> None:
    """Build the site's text with MkDocs alone."""
    call([*BUILD, "--config-file", str(place / "plain.yml"), "--site-dir", str(place / "plain-site")])


def call(command: list[str], *, quiet: bool = True, **environment: str) -> None:
    """Run a command of the project to its end, or stop with what it printed."""
    result = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=quiet, text=True, check=False
    )
    if result.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{result.stdout or ''}{result.stderr or ''}")


def prepare(place: Path) -> None:
    """Build once with a cache of its own; note its compiles, its modules, and its text as the blocks printed it."""
    os.environ |= {"XLA_INSPECT_CACHE": str(place / "cache"), "LIVE": "all"}
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    from livepage.read import find_build

    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(place / "site"))
    work = bare_compiles.note(lambda: build(config))
    del os.environ["LIVE"]
    (place / "work").write_bytes(pickle.dumps(work))
    (place / "texts").write_text(json.dumps(sorted(work.modules)), encoding="utf-8")
    write_plain(place, find_build(config).sources.values())
    made = len(work.functions) + len(work.codes)
    say(f"{len(work.compiles)} compiles, {made} runs, {len(work.modules)} modules; {work.unknown} left out")


def read(place: Path) -> None:
    """Build once with the project's own cache, for the text of the site alone."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    from livepage.read import find_build

    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(place / "site"), strict=False)
    build(config)
    write_plain(place, find_build(config).sources.values())


def write_plain(place: Path, pages: Iterable[tuple[Source, list[Outcome]]]) -> None:
    """Write a copy of the site that runs nothing: each block replaced by what it printed."""
    docs = place / "docs"
    shutil.copytree(ROOT / "docs", docs)
    for source, outcomes in pages:
        path = docs / Path(source.name).relative_to("docs")
        lines = path.read_text(encoding="utf-8").split("\n")
        path.write_text("\n".join(expand(lines, source.pieces, outcomes)), encoding="utf-8")
    lines = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").splitlines()
    settings = [line for line in lines if not LIVE.match(line)]
    text = "\n".join(settings).replace("docs/overrides", str(docs / "overrides"))
    (place / "plain.yml").write_text(f"docs_dir: {docs}\n{text}\n", encoding="utf-8")


def expand(lines: list[str], pieces: tuple[Piece, ...], outcomes: list[Outcome]) -> Iterator[str]:
    """Yield the lines of a page with the outcomes in place of what made them."""
    replaced: dict[int, list[str]] = {}
    for piece, outcome in zip(pieces, outcomes, strict=True):
        at = piece.origin.line - 1
        if piece.kind == "value":
            lines[at] = re.sub(r"`= [^`]*`", re.escape(outcome.text), lines[at], count=1)
            continue
        lead = re.match(r"\s*", lines[at])
        check = f'??? check "{piece.options.get("check")}"\n\n    ```python\n    {piece.code!r}\n    ```'
        text = outcome.text if piece.kind == "block" else check
        replaced[at] = [(lead[0] if lead else "") + line if line else "" for line in text.split("\n")]
        for number in range(at + 1, at + len(piece.lines) + 2):
            replaced[number] = []
    for number, line in enumerate(lines):
        yield from replaced.get(number, [line])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--compile"]:
        bare_compiles.compile_all(Path(sys.argv[2]))
    else:
        main()
