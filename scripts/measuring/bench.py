"""The cost of the site and of the tool beside the least that it could cost, both measured in the same run.

Each figure is the median of paired runs: the thing, then its floor, over and over, so that a machine whose speed
drifts slows both. A cold build's floor is a bare script that makes the same compiles, and a plain MkDocs build of the
text that the blocks printed. A warm build's floor is that plain build, and a bare import of JAX and MkDocs. That of a
first start is a cold build, that of an edit a rebuild by plain MkDocs, and that of a compile with the compilers' logs
one without them. A first question to the tool has JAX alone compiling the same program as its floor, a further one the
import of the program's file, and the help of a command the cheapest help.
"""

from __future__ import annotations

import argparse
import os
import pickle
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from common import ROOT, say
from measuring import bare_compiles, log_costs, scale, served_site, tool_costs
from measuring.paired_runs import call_python, compare_builds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from livepage.read import Outcome, Piece

BUILD = ("-m", "mkdocs", "build", "--quiet")
COSTS = "scripts/inside_xla/page_costs.json"
LIVE = re.compile(r"\s*(?:hooks|watch|markdown-exec|livepage\.extension):")


def main() -> None:
    """Run the benchmarks that the command line names."""
    if sys.argv[1:2] == ["scale"]:
        sys.exit(scale.main(sys.argv[2:]))
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("what", nargs="*", help=f"{', '.join(BENCHMARKS)}; all by default; or scale alone")
    parser.add_argument("--runs", type=int, default=5, help="paired runs of each (default: 5)")
    options = parser.parse_args()
    if unknown := [name for name in options.what if name not in BENCHMARKS]:
        parser.error(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    names = options.what or list(BENCHMARKS)
    os.environ["NO_MKDOCS_2_WARNING"] = "1"
    # Python may write its bytecode files, so that all runs but the first find them, as on a machine in daily use.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if {"cold", "warm", "edit"} & {*names}:
            say(f"reading the site once, for its programs and its text ({options.runs} paired runs follow)")
            read_site(place, is_cold=names != ["edit"])
        for name in names:
            BENCHMARKS[name](place, options.runs)


def time_cold(place: Path, runs: int) -> None:
    """Print the time of a build without caches relative to its bare compilations and runs plus a plain MkDocs build."""
    cache = place / "cold"

    def build() -> None:
        shutil.rmtree(cache, ignore_errors=True)
        call_python(
            *BUILD,
            "--site-dir",
            str(place / "site"),
            XLA_INSPECT_CACHE=str(cache),
            LIVE="all",
            LIVEPAGE_COSTS=str(place / "costs.json"),
        )

    bare = ("-m", "measuring.bare_compiles", str(place / "work"))
    floor = {"bare compiles": lambda: call_python(*bare), "plain MkDocs": lambda: build_plain(place)}
    compare_builds("cold build", runs, (1.05, 1.3), build, floor)
    (place / "costs.json").replace(ROOT / COSTS)
    say(f"{COSTS} has the times of the pages, from which a build estimates the time left")


def time_warm(place: Path, runs: int) -> None:
    """Print the time of a build without changes relative to bare imports plus a plain MkDocs build."""

    def build() -> None:
        call_python(*BUILD, "--site-dir", str(place / "site"), XLA_INSPECT_CACHE=str(place / "cache"))

    # The first build fills the caches and is not timed.
    build()
    bare = ("-c", "import jax, jaxlib, mkdocs")
    floor = {"bare import": lambda: call_python(*bare), "plain MkDocs": lambda: build_plain(place)}
    compare_builds("warm build", runs, (1.2, 1.2), build, floor)


BENCHMARKS: Mapping[str, Callable[[Path, int], None]] = {
    "first": served_site.time_first_starts,
    "cold": time_cold,
    "warm": time_warm,
    "edit": lambda place, _: served_site.time_edits(place),
    "reasons": lambda _, runs: log_costs.time_logs(runs),
    "tool": tool_costs.time_tool,
}
"""The benchmarks by name: functions of the benchmark's folder and the number of runs."""


def build_plain(place: Path) -> None:
    """Build the site's text with MkDocs alone."""
    call_python(*BUILD, "--config-file", str(place / "plain.yml"), "--site-dir", str(place / "plain-site"))


def read_site(place: Path, *, is_cold: bool) -> None:
    """Build the site once, and write its text with the output of its blocks, to be built by MkDocs alone.

    Args:
        place: The folder of the benchmark.
        is_cold: Whether to build with an empty cache, and to record the compilations.
    """
    if is_cold:
        os.environ |= {"XLA_INSPECT_CACHE": str(place / "cache"), "LIVE": "all"}
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    from livepage.read import find_build

    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(place / "site"), strict=is_cold)
    if is_cold:
        work = bare_compiles.note(lambda: build(config))
        del os.environ["LIVE"]
        (place / "work").write_bytes(pickle.dumps(work))
        runs = len(work.functions) + len(work.codes)
        say(f"{len(work.compiles)} compiles, {runs} runs; {work.unknown} left out")
    else:
        build(config)
    docs = place / "docs"
    shutil.copytree(ROOT / "docs", docs)
    for source, outcomes in find_build(config).sources.values():
        path = docs / Path(source.name).relative_to("docs")
        lines = path.read_text(encoding="utf-8").split("\n")
        path.write_text("\n".join(expand(lines, source.pieces, outcomes)), encoding="utf-8")
    lines = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").splitlines()
    # Plain MkDocs has the same theme and plugins, without the hooks and extensions that run code.
    text = "\n".join(line for line in lines if not LIVE.match(line)).replace("docs/overrides", str(docs / "overrides"))
    (place / "plain.yml").write_text(f"docs_dir: {docs}\n{text}\n", encoding="utf-8")


def expand(lines: list[str], pieces: tuple[Piece, ...], outcomes: list[Outcome]) -> Iterator[str]:
    """Yield the lines of a page with each piece replaced by its outcome."""
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
        # The other lines of the fence disappear, including its closing line.
        for number in range(at + 1, at + len(piece.lines) + 2):
            replaced[number] = []
    for number, line in enumerate(lines):
        yield from replaced.get(number, [line])


if __name__ == "__main__":
    main()
