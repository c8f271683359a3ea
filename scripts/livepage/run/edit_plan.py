"""What of a page has to run after an edit, and how it is gone through again.

The pieces are matched by their code; those that are new run, and those that read what runs, binds, alters or is gone.
Where it shows on the way that this was too little, the whole page runs.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from livepage.run.effects import find_effects
from livepage.run.held_run import GONE, Readers, list_own
from livepage.run.trails import is_same

if TYPE_CHECKING:
    from collections.abc import Sequence

    from livepage.read import Piece, Source
    from livepage.run.effects import Effects
    from livepage.run.held_run import HeldRun, Namespace, PieceRun


@dataclass(frozen=True)
class Plan:
    """What of a page has to run.

    Attributes:
        last: The run before.
        matches: For each piece the one of the run before that is the same, if there is one.
        forced: The pieces that run in any case.
        reached: The pieces that may have to.
        reads: What each piece may read.
    """

    last: HeldRun
    matches: tuple[int | None, ...]
    forced: frozenset[int]
    reached: frozenset[int]
    reads: tuple[frozenset[str], ...]


def make_plan(last: HeldRun, source: Source) -> Plan | None:
    """Return what has to run after an edit, or None where that is the whole page."""
    matches = _match([run.piece for run in last.runs], source.pieces)
    effects = [find_effects(piece) for piece in source.pieces]
    if last.unfit or any(one.is_dark for one in effects) or not any(at is not None for at in matches):
        return None
    planner = _Planner(last, source, matches, effects)
    forced = planner.find_first()
    while forced is not None:
        reached = planner.reach(forced)
        more = planner.find_makers(reached)
        if more is None:
            return None
        if more <= forced:
            return Plan(last, matches, frozenset(forced), frozenset(reached), tuple(planner.reads))
        forced |= more
    return None


class _Planner:
    """Finds what an edit reaches, from what the pieces did the last time and what their texts say."""

    def __init__(
        self, last: HeldRun, source: Source, matches: tuple[int | None, ...], effects: Sequence[Effects]
    ) -> None:
        self.runs, self.source, self.matches, self.effects = last.runs, source, matches, effects
        self._places = {old: new for new, old in enumerate(matches) if old is not None}
        self._gone = [old for old in range(len(self.runs)) if old not in self._places]
        self._lost: dict[int, set[str]] = {}
        for old in self._gone:
            run = self.runs[old]
            above = (self._places[each] for each in reversed(range(old)) if each in self._places)
            names = {*run.bound, *run.removed, *run.effects.binds, *run.altered}
            self._lost.setdefault(next(above, -1) + 1, set()).update(names)
        readers = Readers(last.module.__name__)
        self.reads: list[frozenset[str]] = []
        for at, one in enumerate(effects):
            match = matches[at]
            self.reads.append(readers.read(one) | (self.runs[match].spared if match is not None else set()))
            known = dict.fromkeys(one.binds, GONE) if match is None else self.runs[match].bound
            readers.bind(known, one, self.reads[-1])

    def _list_bound(self, at: int) -> set[str]:
        old = self.matches[at]
        known = set() if old is None else {*self.runs[old].bound, *self.runs[old].removed}
        return known | self.effects[at].binds

    def find_first(self) -> set[int] | None:
        """Return the pieces that are new, failed or moved so that it shows, and makers of what gone ones altered."""
        first = set()
        for at, (piece, old) in enumerate(zip(self.source.pieces, self.matches, strict=True)):
            if old is None or not self.runs[old].is_right():
                first.add(at)
                continue
            run = self.runs[old]
            moved = (run.piece.origin, run.piece.lines) != (piece.origin, piece.lines)
            if moved and (run.effects.has_functions or self.source.name in run.outcome.text):
                first.add(at)
        makers = [self._find_maker(name, old) for old in self._gone for name in self.runs[old].altered]
        return None if None in makers else first | {at for each in makers if each for at in each}

    def _find_maker(self, name: str, old: int) -> set[int] | None:
        """Return the piece, if it is still there, that made what a piece of the last run altered; None if none did."""
        maker = next((at for at in reversed(range(old)) if name in self.runs[at].bound), None)
        if maker is None:
            return None
        return {self._places[maker]} if maker in self._places else set()

    def reach(self, forced: set[int]) -> set[int]:
        """Return the pieces that may have to run where some do."""
        reached, dirty = set[int](), set[str]()
        for at, old in enumerate(self.matches):
            dirty |= self._lost.get(at, set())
            run = None if old is None else self.runs[old]
            if at in forced or self.reads[at] & dirty:
                reached.add(at)
                one = self.effects[at]
                dirty |= self._list_bound(at) | one.alters | one.hands_over | (run.altered if run else set())
            elif run:
                dirty -= {*run.bound, *run.removed}
        return reached

    def find_makers(self, reached: set[int]) -> set[int] | None:
        """Return the pieces that made what changes later in the place where it lies, and is used by those that run."""
        makers = set()
        for at in reached:
            names = self.reads[at] | self.effects[at].alters | self.effects[at].hands_over
            for old, run in enumerate(self.runs):
                for name in names & run.altered:
                    made = self._find_maker(name, old)
                    if made is None:
                        return None
                    makers |= made
        return makers


def _match(old: Sequence[Piece], new: Sequence[Piece]) -> tuple[int | None, ...]:
    """Return for each new piece the place of the old one that is the same code, in order."""
    matches: list[int | None] = [None] * len(new)
    was, now = ([(piece.kind, piece.code) for piece in pieces] for pieces in (old, new))
    for block in difflib.SequenceMatcher(a=was, b=now, autojunk=False).get_matching_blocks():
        for step in range(block.size):
            matches[block.b + step] = block.a + step
    return tuple(matches)


class Replay:
    """Goes through a page after an edit and says of each piece whether it has to run."""

    def __init__(self, plan: Plan, held: HeldRun) -> None:
        """Begin with the names that the page had at first."""
        self._plan, self._held = plan, held
        self._old: Namespace = {}
        self._at_old = 0
        self._tainted: set[str] = set()
        namespace = vars(held.module)
        for name in [name for name, _ in list_own(namespace)]:
            del namespace[name]

    def find(self, at: int, piece: Piece) -> PieceRun | None:
        """Return what a piece did the last time, where it would do that again, or None where it has to run."""
        old = self._plan.matches[at]
        if old is None:
            return None
        for run in self._plan.last.runs[self._at_old : old]:
            self._apply(run)
        self._at_old = old + 1
        last = self._plan.last.runs[old]
        keeps = at not in self._plan.forced and not self._is_touched(at)
        self._apply(last)
        if keeps:
            self._tainted -= {*last.bound, *last.removed}
            return replace(last, piece=piece)
        if at not in self._plan.reached:
            self._held.doubt("an edit reached further than was foreseen")
        return None

    def note(self, run: PieceRun) -> None:
        """Note what a piece did that ran."""
        self._tainted -= {*run.bound, *run.removed}
        self._tainted |= run.altered

    def _apply(self, run: PieceRun) -> None:
        self._old.update(run.bound)
        for name in run.removed:
            self._old.pop(name, None)

    def _is_touched(self, at: int) -> bool:
        now = vars(self._held.module)
        return any(
            name in self._tainted or not is_same(self._old.get(name, GONE), now.get(name, GONE))
            for name in self._plan.reads[at]
            if not name.startswith("__")
        )
