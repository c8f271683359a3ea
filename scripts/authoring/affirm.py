"""Show sentences beside what backs them, and write down that they agree: see `scripts/authoring/affirm --help`."""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from authoring import affirmed_tables
from common import ROOT
from livepage.notebooks import read_prose
from livepage.read import project
from livepage.run import CHECK, FREE, KINDS, Record, agreement, backing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from livepage.read import Prose, Sentence
    from livepage.run import Backing

WIDTH = 66
"""How wide sentences are shown beside their check."""


def list_prose(names: list[str]) -> Iterator[Prose]:
    """Yield the pages and tables of these names, or all of them.

    Raises:
        SystemExit: There is no such page or table.
    """
    tables = {prose.name: prose for prose in affirmed_tables.read(ROOT)}
    docs = ROOT / "docs"
    pages = [path.relative_to(ROOT).as_posix() for path in (*sorted(docs.rglob("*.md")), *sorted(docs.rglob("*.py")))]
    chosen = [Path(name).resolve().relative_to(ROOT).as_posix() for name in names] or [*pages, *tables]
    if unknown := [name for name in chosen if name not in pages and name not in tables]:
        sys.exit(f"affirm: no page {unknown[0]}. A page is named by its path, such as docs/pipeline.md.")
    for name in chosen:
        yield tables[name] if name in tables else read_prose(ROOT / name)


def affirm(prose: Prose, chosen: dict[int, str]) -> list[str]:
    """Write down what backs each sentence of a page, and print what is new or changed beside it.

    Args:
        prose: What the page says.
        chosen: What backs the sentences on some lines, where it is said: a kind, or the title of a check.

    Returns:
        What is wanting: the sentences that nothing backs.
    """
    before = backing.load(prose.name)
    now = {sentence.text for sentence in prose.sentences}
    fresh = [sentence for sentence in prose.sentences if sentence.text not in before.backed]
    gone = agreement.pair([text for text in before.backed if text not in now], fresh)
    old = {follower.text: text for text, follower in gone.items() if follower}
    after = Record({check.title: check.code for check in prose.checks})
    wanting = []
    for sentence in prose.sentences:
        was = old.get(sentence.text, "")
        known = before.backed.get(sentence.text) or before.backed.get(was)
        by = _choose(sentence, prose, known, chosen.get(sentence.line))
        if by:
            after.backed[sentence.text] = by
            if before.backed.get(sentence.text) != by:
                _show(sentence, was, prose, by)
        elif agreement.claims(sentence.text):
            wanting.append(
                f"{prose.name}:{sentence.line}: nothing backs this: {sentence.text}\n"
                "    Put a check below it, compute what it says, or link to its source. If a compiler decides nothing "
                f"of it: scripts/authoring/affirm {prose.name} --lines {sentence.line} --as free"
            )
    for check in prose.checks:
        if check.title in before.checks and not agreement.same_code(check.code, before.checks[check.title]):
            beside = _side_by_side(after.list_sentences(CHECK, check.title), check.code)
            print(f"{prose.name}:{check.line}: the check changed\n{beside}")
    if backing.store(prose.name, after):
        print(f"wrote {backing.locate(prose.name).relative_to(ROOT)}: read its difference before you commit it")
    return wanting


def _choose(sentence: Sentence, prose: Prose, known: Backing | None, choice: str | None) -> Backing | None:
    """Return what backs a sentence, or None where nothing does."""
    if prose.fixed:
        return prose.fixed[sentence.text]
    titles = {check.title for check in prose.checks}

    def is_there(by: Backing) -> bool:
        return backing.can_back(by[0], sentence, prose) if by[0] in KINDS else by[1] in titles

    if choice == FREE and not agreement.claims(sentence.text):
        return None
    if choice:
        chosen = (choice, "") if choice in KINDS else (CHECK, choice)
        if not is_there(chosen):
            there = "\n".join(f"  {title}" for title in sorted(titles))
            place = f"{prose.name}:{sentence.line}"
            sys.exit(
                f"affirm: {place} cannot rest on {choice!r}. Known are {', '.join(KINDS)}, and these checks:\n{there}"
            )
        return chosen
    if known and is_there(known):
        return known
    return backing.propose(sentence, prose) if agreement.claims(sentence.text) else None


def _show(sentence: Sentence, old: str, prose: Prose, by: Backing) -> None:
    """Print a sentence beside what backs it."""
    kind, title = by
    what = "claims nothing" if kind == FREE else f"rests on its {kind}" if kind in KINDS else f"rests on {title!r}"
    print(f"{prose.name}:{sentence.line}: {'changed' if old else 'new'}, {what}")
    if old:
        print(textwrap.fill(old, 120, initial_indent="  - ", subsequent_indent="    "))
    code = next((check.code for check in prose.checks if check.title == title), "")
    print(_side_by_side([sentence.text], code))


def _side_by_side(sentences: list[str], code: str) -> str:
    """Return sentences on the left and a check on the right."""
    left = [
        line for text in sentences for line in textwrap.wrap(text, WIDTH, initial_indent="+ ", subsequent_indent="  ")
    ]
    right = code.strip("\n").split("\n")
    height = max(len(left), len(right))
    rows = zip(left + [""] * (height - len(left)), right + [""] * (height - len(right)), strict=True)
    return "\n".join(f"  {one:<{WIDTH}} | {other}".rstrip(" |") for one, other in rows)


def _read_lines(text: str) -> list[int]:
    """Return the lines of `12,20-24`."""
    lines: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        lines += range(int(first), int(last or first) + 1)
    return lines


def main() -> None:
    """Affirm, or say what is not affirmed."""
    parser = argparse.ArgumentParser(prog="scripts/authoring/affirm", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="PAGE")
    parser.add_argument("--lines", default="", type=_read_lines, help="12,20-24: these lines of one page")
    parser.add_argument("--as", dest="by", help=f"what they rest on: {', '.join(KINDS)}, or the title of a check")
    parser.add_argument("--check", action="store_true", help="write nothing, and fail where something is not affirmed")
    asked = parser.parse_args()
    if bool(asked.lines) != bool(asked.by) or (asked.lines and len(asked.names) != 1):
        parser.error("--lines and --as go together, and with one page")
    project.root = ROOT
    wanting: list[str] = []
    for prose in list_prose(asked.names):
        chosen = dict.fromkeys(asked.lines or (), asked.by)
        wanting += map(str, agreement.judge(prose)) if asked.check else affirm(prose, chosen)
    print("\n".join(wanting) or "every sentence that claims something stands beside what backs it")
    sys.exit(bool(wanting))


if __name__ == "__main__":
    main()
