"""Falsify pages at random, one thing at a time, and count what goes unnoticed.

    uv run python -m maintaining.mutations [--count 40] [--seed 0] [docs/fusion.md ...]

A value in prose gets a misspelt name, or the number that it shows typed in its place; an assertion gets another
operator or another constant; a number that stands in prose gets another digit. The build or the lint must notice.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from common import ROOT
from lint import typed_numbers
from livepage import render_one
from livepage.read import Build, Kind, Source, project, read_sentences
from livepage.run import run_page, sentence_checks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from livepage.read import Piece

OPPOSITE = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip


@dataclass(frozen=True)
class Mutation:
    """One falsified item of a page.

    Attributes:
        page: The page's file.
        line: The line of the item.
        what: A description of the change.
        piece: The index of the piece whose code changes, or None if the text changes.
        code: The piece's code or, without a piece, the page's text, after the change.
    """

    page: Path
    line: int
    what: str
    piece: int | None
    code: str

    def is_noticed(self, source: Source | None) -> bool:
        """Run the page with the changed code, or lint its changed text, and return whether that fails."""
        if self.piece is None or source is None:
            name = self.page.relative_to(ROOT).as_posix()
            typed = typed_numbers.check_text(self.code, name, ROOT)
            return bool(typed or sentence_checks.judge_sentences(read_sentences(name, self.code)))
        pieces = list(source.pieces)
        pieces[self.piece] = replace(pieces[self.piece], code=self.code)
        return any(outcome.failure for outcome in run_page(replace(source, pieces=tuple(pieces))))


def list_mutations(page: Path, source: Source, texts: list[str], dice: random.Random) -> Iterator[Mutation]:
    """Yield falsifications of a page: one for each value, assert and number in prose, and another for numeric values.

    Args:
        page: The page's file.
        source: The page as read.
        texts: The text of each piece's outcome.
        dice: The random generator that chooses among the ways to falsify an item.
    """
    for index, piece in enumerate(source.pieces):
        tree = ast.parse(piece.code)
        if piece.kind is Kind.VALUE:
            yield _misspell(page, index, piece, tree, dice)
            if re.match(r"[\d,.]+$", texts[index]):
                yield _type(page, piece, texts[index])
        elif piece.kind is Kind.CHECK:
            asserts = [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]
            yield from (_falsify(page, index, piece, node, dice) for node in asserts)
    text = page.read_text(encoding="utf-8")
    for line, start, number in typed_numbers.list_numbers(text):
        digit = str((int(number[-1]) + 1) % 10) if number[-1].isdigit() else "7"
        falsified = text[:start] + number[:-1] + digit + text[start + len(number) :]
        yield Mutation(page, line, f"{number} typed as {number[:-1]}{digit}", None, falsified)


def _misspell(page: Path, index: int, piece: Piece, tree: ast.Module, dice: random.Random) -> Mutation:
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute | ast.Name)]
    node = dice.choice(names)
    name = node.attr if isinstance(node, ast.Attribute) else node.id
    if isinstance(node, ast.Attribute):
        node.attr += "_"
    else:
        node.id += "_"
    return Mutation(page, piece.origin.line, f"value: {name} misspelt", index, ast.unparse(tree))


def _type(page: Path, piece: Piece, number: str) -> Mutation:
    text = page.read_text(encoding="utf-8")
    lines = text.split("\n")
    at = piece.origin.line - 1
    lines[at] = re.sub(r"(`+)\s?= .*?\1", number, lines[at], count=1)
    return Mutation(page, piece.origin.line, f"value: {number} typed in its place", None, "\n".join(lines))


def _falsify(page: Path, index: int, piece: Piece, node: ast.Assert, dice: random.Random) -> Mutation:
    before, code = ast.unparse(node.test), piece.code
    equal = [
        compare
        for compare in ast.walk(node.test)
        if isinstance(compare, ast.Compare) and isinstance(compare.ops[0], ast.Eq)
    ]
    constants = [
        leaf
        for compare in equal
        for leaf in ast.walk(compare.comparators[0])
        if isinstance(leaf, ast.Constant) and isinstance(leaf.value, int | str) and not isinstance(leaf.value, bool)
    ]
    if constants and dice.getrandbits(1):
        leaf = dice.choice(constants)
        leaf.value = leaf.value + 1 if isinstance(leaf.value, int) else str(leaf.value) + "x"
        test = node.test
    elif isinstance(node.test, ast.Compare) and len(node.test.ops) == 1:
        node.test.ops = [OPPOSITE[type(node.test.ops[0])]()]
        test = node.test
    else:
        test = ast.UnaryOp(ast.Not(), node.test)
    lines = code.split("\n")
    indent = " " * node.col_offset
    end = node.end_lineno or node.lineno
    # The number of lines stays the same, so that later statements keep their line numbers.
    lines[node.lineno - 1 : end] = [f"{indent}assert {ast.unparse(test)}", *[""] * (end - node.lineno)]
    what = f"assert {before} became {ast.unparse(test)}"
    return Mutation(page, piece.origin.line + node.lineno, what, index, "\n".join(lines))


def read_pieces(page: Path) -> tuple[Source, list[str]]:
    """Run a page, and return it as read with the texts of its outcomes.

    Raises:
        SystemExit: The unchanged page fails.
    """
    build = Build()
    _, failures = render_one.render_page(page, ROOT, build)
    if failures:
        sys.exit("\n".join(map(str, failures)))
    source, outcomes = build.sources[page.relative_to(ROOT).as_posix()]
    return source, [outcome.text for outcome in outcomes]


def main() -> None:
    """Falsify pages, and print the unnoticed changes and the score."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", help="pages of docs/; all of them by default")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    dice = random.Random(options.seed)  # noqa: S311 - a sample, no secret
    project.root = ROOT
    docs = ROOT / "docs"
    sources: dict[Path, Source] = {}
    mutations: list[Mutation] = []
    for page in [Path(page).resolve() for page in options.pages] or sorted(docs.rglob("*.md")):
        sources[page], texts = read_pieces(page)
        mutations += list_mutations(page, sources[page], texts, dice)
    chosen = dice.sample(mutations, min(options.count, len(mutations)))
    noticed = 0
    for mutation in chosen:
        was_noticed = mutation.is_noticed(sources.get(mutation.page))
        noticed += was_noticed
        where = f"{mutation.page.relative_to(ROOT)}:{mutation.line}"
        print(
            f"{'noticed  ' if was_noticed else 'UNNOTICED'} {where}: {' '.join(mutation.what.split())[:150]}",
            flush=True,
        )
    pages = {mutation.page for mutation in mutations}
    print(f"{noticed} of {len(chosen)} noticed ({len(mutations)} possible on {len(pages)} pages)")
    sys.exit(noticed < len(chosen))


if __name__ == "__main__":
    main()
