"""What of a page an edit of a file reaches, and which of the rest has to run for that to run.

The text of the page tells it, statement by statement: a block may import ten programs, and few of its lines use one.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from livepage.read import Kind
from livepage.run.effects import Effects, find_effects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from livepage.read import Outcome, Piece


@dataclass(frozen=True)
class Slice:
    """A part of a page.

    Attributes:
        reached: The places of the pieces that may come to something else.
        needed: The places of those, and of the pieces that made what they read.
        pieces: All pieces of the page, of some that are needed only the statements that have to run.
    """

    reached: frozenset[int]
    needed: frozenset[int]
    pieces: tuple[Piece, ...]


@dataclass
class _Statement:
    """A statement of a piece.

    Attributes:
        at: The place of the piece.
        code: Its source.
        lines: Its first and its last line in the piece, counted from one.
        effects: What it does; an import does it name by name.
        reads: What it may read, also by what it calls.
        is_touched: Whether it may come to something else.
        is_needed: Whether it has to run.
    """

    at: int
    code: str
    lines: tuple[int, int]
    effects: tuple[tuple[str, Effects], ...]
    reads: frozenset[str] = frozenset()
    is_touched: bool = False
    is_needed: bool = False

    @property
    def makes(self) -> frozenset[str]:
        """The names that it binds or whose objects it may change."""
        return frozenset().union(*map(_list_made, (effects for _, effects in self.effects)))


def slice_page(pieces: Sequence[Piece], known: Sequence[Outcome], uses: Callable[[str], bool]) -> Slice | None:
    """Return the part of a page that an edit of a file reaches, or None where that cannot be told.

    Args:
        pieces: What stands on the page.
        known: What these came to before the edit.
        uses: Says of Python code whether what it imports or opens comes to the file.
    """
    statements = [each for at, piece in enumerate(pieces) for each in _split(at, piece)]
    if any(effects.is_dark for each in statements for _, effects in each.effects):
        return None
    _touch(statements, uses)
    reached = {each.at for each in statements if each.is_touched}
    for each in statements:
        # What prints nothing, and comes to what it came to, runs only for what others read of it.
        is_silent = pieces[each.at].kind is Kind.BLOCK and not known[each.at].text and not known[each.at].entries
        each.is_needed = each.is_touched or (each.at in reached and not is_silent)
    _require(statements)
    kept: dict[int, list[_Statement]] = {}
    for each in statements:
        kept.setdefault(each.at, []).append(each)
    needed = frozenset(each.at for each in statements if each.is_needed) | reached
    trimmed = tuple(_trim(piece, kept.get(at, [])) if at in needed else piece for at, piece in enumerate(pieces))
    return Slice(frozenset(reached), needed, trimmed)


def _touch(statements: list[_Statement], uses: Callable[[str], bool]) -> None:
    """Mark the statements that use the file, or a name that came to depend on it."""
    touched, later = set[str](), dict[str, frozenset[str]]()
    for each in statements:
        for code, effects in each.effects:
            reads = _read(effects, later)
            each.reads |= reads | effects.alters | effects.hands_over
            if uses(code) or reads & touched:
                each.is_touched = True
                touched |= _list_made(effects)
            else:
                touched -= effects.sets
            for name in effects.binds:
                later[name] = effects.later | (reads if effects.later else frozenset())


def _require(statements: list[_Statement]) -> None:
    """Mark the statements that bind or change what those read that have to run, and so on."""
    wanted = set[str]()
    for each in reversed(statements):
        each.is_needed = each.is_needed or bool(each.makes & wanted)
        if each.is_needed:
            wanted |= each.reads


def _read(effects: Effects, later: dict[str, frozenset[str]]) -> frozenset[str]:
    """Return the names that a statement may read, also by what it calls."""
    reads, fresh = set(effects.reads | effects.later), set(effects.reads | effects.later)
    while fresh:
        fresh = {name for known in fresh for name in later.get(known, ())} - reads
        reads |= fresh
    return frozenset(reads)


def _list_made(effects: Effects) -> frozenset[str]:
    return effects.binds | effects.alters | effects.hands_over | effects.patches


def _trim(piece: Piece, statements: list[_Statement]) -> Piece:
    """Return a piece with empty lines for the statements that need not run."""
    lines = piece.code.split("\n")
    held = {line for each in statements if each.is_needed for line in range(each.lines[0], each.lines[1] + 1)}
    for each in statements:
        if not each.is_needed and not held.intersection(range(each.lines[0], each.lines[1] + 1)):
            lines[each.lines[0] - 1 : each.lines[1]] = [""] * (each.lines[1] - each.lines[0] + 1)
    return replace(piece, code="\n".join(lines))


def _split(at: int, piece: Piece) -> Iterator[_Statement]:
    """Yield the statements of a piece."""
    try:
        body = [] if piece.kind is Kind.VALUE else ast.parse(piece.code).body
    except SyntaxError:
        body = []
    if not body:
        yield _Statement(at, piece.code, (1, piece.code.count("\n") + 1), ((piece.code, find_effects(piece)),))
    for node in body:
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
        codes = [*_list_codes(node)]
        effects = tuple((code, find_effects(replace(piece, code=code))) for code in codes)
        yield _Statement(at, ast.unparse(node), (first, node.end_lineno or first), effects)


def _list_codes(node: ast.stmt) -> Iterator[str]:
    """Yield the source of a statement, an import of several names one by one."""
    if isinstance(node, ast.Import):
        yield from (ast.unparse(ast.Import([alias])) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from (ast.unparse(ast.ImportFrom(node.module, [alias], node.level)) for alias in node.names)
    else:
        yield ast.unparse(node)
