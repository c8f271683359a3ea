"""A random draw of sentences for readers to judge: each alone, with the title of its page and nothing else.

The sentences come from the built site, the output of commands, and docstrings. With `--key`, known riddles are mixed
in: discard the ratings of a reader who passes three of them.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from bs4 import BeautifulSoup

from common import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

RIDDLES = Path(__file__).with_name("riddles.toml")
FEWEST_WORDS = 5
COMMANDS = (
    "summary snippets/programs/attention.py:attention",
    "memory snippets/programs/attention.py:attention --target h100",
    "kernels snippets/programs/attention.py:attention --target h100",
    "why snippets/programs/attention.py:attention --target tpu-v5e",
    "passes snippets/programs/mlp.py:mlp --target cpu",
    "memory --help",
    "why --help",
)
"""The commands whose output is drawn from; most of them compile the program."""
KINDS = ("site", "commands", "docstrings")

_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"`(])")
_SKIPPED = "pre, script, style, table, svg, nav, .headerlink, [popover]"


def list_site_sentences(site: Path) -> Iterator[tuple[str, str]]:
    """Yield the title of a page and one of its sentences, for all sentences in running text of a built site."""
    for path in sorted(site.rglob("index.html")):
        page = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
        article = page.select_one("article")
        if article is None or page.title is None:
            continue
        for part in article.select(_SKIPPED):
            part.decompose()
        for paragraph in article.select("p, li, dd, figcaption, summary"):
            if not paragraph.select_one("p, li"):
                text = re.sub(r" (?=[.,;:?!)])", "", " ".join(paragraph.get_text(" ").split()))
                yield from ((page.title.get_text().split(" - ")[0], sentence) for sentence in _END.split(text))


def list_command_sentences() -> Iterator[tuple[str, str]]:
    """Run `COMMANDS`; yield the name of each and one sentence that it prints, for all sentences outside of tables."""
    for command in COMMANDS:
        printed = subprocess.run(
            [sys.executable, "-m", "xla_inspect.commands", *command.split()],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for line in printed.splitlines():
            if not re.search(r"\S {2,}\S|[|%]", line):
                yield from ((f"xla-inspect {command.split()[0]}", sentence) for sentence in _END.split(line.strip()))


def list_docstring_sentences() -> Iterator[tuple[str, str]]:
    """Yield the name of each module, class and function, and the first line of its docstring."""
    for folder in ("snippets", "scripts"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                    name = getattr(node, "name", path.stem)
                    yield f"docstring of {name}", (ast.get_docstring(node) or "").split("\n")[0]


def draw(site: Path, seed: int, number: int, kinds: tuple[str, ...] = KINDS) -> list[tuple[str, str]]:
    """Return sentences with their titles, drawn without repetition.

    Args:
        site: The folder of a built site.
        seed: The seed; the same seed and site give the same draw.
        number: The number of sentences: a fifth from each kind but the first, and the rest from the first.
        kinds: Which of `KINDS` to draw from.
    """
    generator = random.Random(seed)  # noqa: S311 - a draw that can be repeated, and no secret
    sources = {
        "site": lambda: list_site_sentences(site),
        "commands": list_command_sentences,
        "docstrings": list_docstring_sentences,
    }
    pools = {kind: sorted({pair for pair in sources[kind]() if len(pair[1].split()) >= FEWEST_WORDS}) for kind in kinds}
    shares = dict.fromkeys(kinds, number // 5)
    shares[kinds[0]] = number - sum(shares[kind] for kind in kinds[1:])
    return [pair for kind in kinds for pair in generator.sample(pools[kind], min(shares[kind], len(pools[kind])))]


def main() -> None:
    """Print a numbered draw; with `--key FILE`, mix riddles in, and write their numbers to the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int, help="the seed of the draw")
    parser.add_argument("--site", type=Path, default=ROOT / "site", help="the built site, by default site")
    parser.add_argument("--number", type=int, default=100, help="the number of sentences, by default 100")
    parser.add_argument("--kind", choices=KINDS, action="append", help="draw from this source only; may be repeated")
    parser.add_argument("--key", type=Path, help="write the numbers of the riddles to this file, and mix them in")
    options = parser.parse_args()
    pairs = draw(options.site, options.seed, options.number, tuple(options.kind or KINDS))
    riddles = []
    if options.key:
        riddles = [(row["page"], row["sentence"]) for row in tomllib.loads(RIDDLES.read_text("utf-8"))["riddle"]]
    pairs += riddles
    random.Random(options.seed).shuffle(pairs)  # noqa: S311 - see above
    for number, (page, sentence) in enumerate(pairs, 1):
        print(f"{number}. [{page}] {sentence}")
    if options.key:
        numbers = [str(number) for number, pair in enumerate(pairs, 1) if pair in riddles]
        options.key.write_text("\n".join(numbers) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
