"""Which pieces of a page use a file that was edited, and which of the others have to run for those to run.

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

    from livepage.read import Piece


@dataclass(frozen=True)
class Slice:
    """A part of a page.

    Attributes:
        reached: The places of the pieces that may come to something else.
        needed: The places of those, and of the pieces that made what they read.
    """

    reached: frozenset[int]
    needed: frozenset[int]


def slice_page(pieces: Sequence[Piece], uses: Callable[[str], bool]) -> Slice | None:
    """Return the part of a page that an edit of a file reaches, or None where that cannot be told.

    Args:
        pieces: What stands on the page.
        uses: Says of Python code whether what it imports or opens comes to the file.
    """
    nodes = [[(code, _find(code, piece)) for code in _split(piece)] for piece in pieces]
    if any(effects.is_dark for each in nodes for _, effects in each):
        return None
    reached = _reach(nodes, uses)
    return Slice(frozenset(reached), frozenset(_list_makers(nodes, reached)))


type _Nodes = list[list[tuple[str, Effects]]]


def _reach(nodes: _Nodes, uses: Callable[[str], bool]) -> set[int]:
    """Return the pieces with a statement that uses the file, or a name that came to depend on it."""
    reached, touched = set[int](), set[str]()
    later: dict[str, frozenset[str]] = {}
    for at, each in enumerate(nodes):
        for code, effects in each:
            reads = _read(effects, later)
            if uses(code) or reads & touched:
                reached.add(at)
                touched |= effects.binds | effects.alters | effects.hands_over | effects.patches
            else:
                touched -= effects.sets
            _note_later(effects, reads, later)
    return reached


def _list_makers(nodes: _Nodes, reached: set[int]) -> set[int]:
    """Return some pieces with all those before them that bind or change what these read, and so on."""
    later: dict[str, frozenset[str]] = {}
    read: list[frozenset[str]] = []
    made: list[frozenset[str]] = []
    for each in nodes:
        names, makes = set[str](), set[str]()
        for _, effects in each:
            names |= (reads := _read(effects, later)) | effects.alters | effects.hands_over
            makes |= effects.binds | effects.alters | effects.hands_over | effects.patches
            _note_later(effects, reads, later)
        read.append(frozenset(names))
        made.append(frozenset(makes))
    needed, wanted = set(reached), set[str]()
    for at in reversed(range(len(nodes))):
        if at in needed or made[at] & wanted:
            needed.add(at)
            wanted |= read[at]
    return needed


def _read(effects: Effects, later: dict[str, frozenset[str]]) -> frozenset[str]:
    """Return the names that a statement may read, also by what it calls."""
    reads, fresh = set(effects.reads | effects.later), set(effects.reads | effects.later)
    while fresh:
        fresh = {name for known in fresh for name in later.get(known, ())} - reads
        reads |= fresh
    return frozenset(reads)


def _note_later(effects: Effects, reads: frozenset[str], later: dict[str, frozenset[str]]) -> None:
    for name in effects.binds:
        later[name] = effects.later | (reads if effects.later else frozenset())


def _find(code: str, piece: Piece) -> Effects:
    return find_effects(replace(piece, code=code))


def _split(piece: Piece) -> Iterator[str]:
    """Yield the statements of a piece, an import of several names one by one."""
    if piece.kind is Kind.VALUE:
        yield piece.code
        return
    try:
        tree = ast.parse(piece.code)
    except SyntaxError:
        yield piece.code
        return
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for alias in statement.names:
                alone = ast.Import([alias])
                if isinstance(statement, ast.ImportFrom):
                    alone = ast.ImportFrom(statement.module, [alias], statement.level)
                yield ast.unparse(ast.fix_missing_locations(alone))
        else:
            yield ast.unparse(statement)
