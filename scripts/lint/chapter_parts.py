"""Recommendations for chapters: an answer first, a picture, questions, exercises, and a last section, Next.

    python -m lint.chapter_parts docs/fusion.md ...    print the parts that each page lacks, and succeed

A page without these parts is welcome, so nothing here fails a build. Faulty parts do: tests/site/test_anatomy.py checks
that the answer to an exercise is executed, and that a question leads to the output below it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.config import load_config

from common import ROOT
from livepage import render_one

if TYPE_CHECKING:
    from collections.abc import Iterator

SECTIONS = ("Understand", "Beyond the compiler", "Use it well")
"""The groups of the navigation that hold chapters."""
LISTS = {"questions.md"}
"""The pages of these groups that are no chapters but lists of short answers."""
LEAST_EXERCISES = 2
LEAST_QUESTIONS = 3
LONGEST_BLOCK = 25
"""The largest number of lines in a Python block that readers of the Markdown can take in at once."""
BLOCK = re.compile(r"^( *)```python[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
QUESTION = re.compile(r'id="(predict-[^"]+)"')


def list_chapters() -> list[Path]:
    """Return the chapters in the order of the navigation."""
    groups: list[dict[str, Any]] = load_config(str(ROOT / "mkdocs.yml"))["nav"]
    sections = [entries for group in groups for name, entries in group.items() if name in SECTIONS]
    names = [name for entries in sections for entry in entries for name in entry.values()]
    return [ROOT / "docs" / name for name in names if name not in LISTS]


def list_answers(text: str) -> list[str]:
    """Return the body of each folded answer to an exercise in a page's Markdown."""
    return re.findall(r"^\?\?\?\+? question .*\n((?:(?: {4}.*)?\n)+)", text, re.MULTILINE)


def list_long_blocks(text: str) -> list[int]:
    """Return the lines of a page's Markdown on which a Python block longer than `LONGEST_BLOCK` begins."""
    long = (block for block in BLOCK.finditer(text) if block[2].count("\n") > LONGEST_BLOCK)
    return [text.count("\n", 0, block.start()) + 1 for block in long]


def list_missing(text: str, html: str) -> Iterator[str]:
    """Yield each recommended part that a page lacks, judging by its Markdown and its HTML."""
    opening = html.partition("<h2")[0]
    answers = re.findall(r'<p class="answer">(.*?)</p>', opening, re.DOTALL)
    # There must be exactly one answer with exactly one sentence; tags are removed so that their dots do not count.
    if [len(re.findall(r"[.?!](?=\s|$)", re.sub(r"<[^>]*>", "", answer))) for answer in answers] != [1]:
        yield "one sentence before everything else that answers the page's question, marked { .answer }"
    # The HTML is searched for figures and questions, because blocks print them.
    if not re.search(r"<figure\b|<svg\b", html):
        yield "a picture"
    if len({question[1] for question in QUESTION.finditer(html)}) < LEAST_QUESTIONS:
        yield f"{LEAST_QUESTIONS} questions, each above the output that answers it"
    if len(list_answers(text)) < LEAST_EXERCISES:
        yield f"{LEAST_EXERCISES} exercises with folded answers"
    # Code blocks are removed first, since a comment in Python or a shell looks like a heading.
    headings = re.findall(r"^## .*$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    # The last section is called Next on every page, so nothing links to it and it needs no address.
    if bare := next((heading for heading in headings if "{ #" not in heading and heading != "## Next"), None):
        yield f"an address for each section, such as {bare} {{ #{bare[3:].lower().replace(' ', '-')} }}"
    sections = re.findall(r'<h2 id="([^"]+)"', html)
    if "own-code" not in sections:
        yield "a section { #own-code } with the command that asks the same of the reader's own code"
    if not headings or not headings[-1].startswith("## Next"):
        yield "a last section, ## Next, with what to read next"
    for line in list_long_blocks(text):
        yield f"at most {LONGEST_BLOCK} lines in a block: that of line {line} fits into a module of snippets/pages"


def main(pages: list[str]) -> None:
    """Print the missing parts of those pages that are chapters."""
    chapters = list_chapters()
    for page in map(Path, pages):
        if page.resolve() in chapters:
            for part in list_missing(page.read_text(encoding="utf-8"), render_one.render_page(page.resolve(), ROOT)[0]):
                print(f"{page}: recommended for a chapter: {part}")


if __name__ == "__main__":
    main(sys.argv[1:])
