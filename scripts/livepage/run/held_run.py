"""The last run of a page, held so that after an edit only what changed runs, and what uses what that made.

Each piece that ran is held with what it bound and what it altered, as it did and as its text says. What is unclear
counts as altered, and what cannot be told for the pieces apart lets the whole page run: a page that runs in part may be
slow, but must not differ.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from livepage.run.effects import Effects, find_effects
from livepage.run.trails import (
    SIMPLE,
    Trail,
    can_look_into,
    follow,
    holds_the_same,
    is_unchanged,
    list_called,
    list_own_modules,
    look_at,
    may_change,
    read_chance,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from livepage.read import Outcome, Piece
    from livepage.run.asserts import Asserts

type Namespace = dict[str, Any]

GONE: Any = object()
"""What stands for the object of a name that has none, or of which it is not known yet."""

_TRAILED = (list, dict, set, bytearray)


@dataclass(frozen=True)
class PieceRun:
    """What a piece did when it ran.

    Attributes:
        piece: The piece.
        outcome: What it came to.
        effects: What its text says.
        bound: The names that it bound, with their objects.
        removed: The names that it removed.
        spared: The names that it may bind, and left as they were.
        altered: The names that were there before whose objects it changed in place, or may have.
    """

    piece: Piece
    outcome: Outcome
    effects: Effects
    bound: Mapping[str, Any]
    removed: frozenset[str]
    spared: frozenset[str]
    altered: frozenset[str]

    def is_right(self) -> bool:
        """Return whether it came to what it should, and not to a failure or a gap, of which others know."""
        return self.outcome.failure is None and not self.outcome.gap


@dataclass
class HeldRun:
    """The last run of a page.

    Attributes:
        module: The module whose names are those of the page.
        asserts: What its asserts report to.
        runs: What its pieces did, in order.
        unfit: Why the page has to run whole the next time, in words; empty where it need not.
        ran: How many of the pieces ran this time.
    """

    module: ModuleType
    asserts: Asserts
    runs: list[PieceRun] = field(default_factory=list)
    unfit: str = ""
    ran: int = 0

    @property
    def is_partial(self) -> bool:
        """Whether some of it was taken from the run before."""
        return self.ran < len(self.runs)

    def list_outcomes(self) -> list[Outcome]:
        """Return what the pieces came to."""
        return [run.outcome for run in self.runs]

    def amend(self, outcomes: Sequence[Outcome]) -> None:
        """Take what the pieces came to with what was found out at the end of the page."""
        self.runs = [replace(run, outcome=outcome) for run, outcome in zip(self.runs, outcomes, strict=True)]

    def doubt(self, why: str) -> None:
        """Let the page run whole the next time."""
        self.unfit = self.unfit or why


class Recorder:
    """Notes what each piece does that runs."""

    def __init__(self, held: HeldRun) -> None:
        """Take where it is noted."""
        self.held = held
        self._readers = Readers(held.module.__name__)
        self._trails: dict[str, Trail] | None = None

    def begin(self, piece: Piece) -> None:
        """Note what there is before a piece runs."""
        self._before = dict(vars(self.held.module))
        self._trails_before = self._trails or _follow_all(self._before, self.held.module.__name__)
        self._modules_before = {name: look_at(module) for name, module in list_own_modules().items()}
        self._chance = read_chance()
        handed = find_effects(piece).hands_over & self._before.keys()
        self._handed = {name: self._look_into(name) for name in handed if _may_take_up(self._before[name])}

    def _look_into(self, name: str) -> Trail | None:
        """Follow what a name stands for even where that is another's; None where Python cannot look into it."""
        value = self._before[name]
        return follow(value, self.held.module.__name__, is_open=True) if can_look_into(value) else None

    def end(self, piece: Piece, outcome: Outcome) -> PieceRun:
        """Note what a piece did since."""
        effects = find_effects(piece)
        now, page = vars(self.held.module), self.held.module.__name__
        before = self._before
        changed = {name for name, value in list_own(now) if before.get(name, GONE) is not value}
        bound = {name: now[name] for name in changed | (effects.sets & now.keys())}
        removed = frozenset(name for name, _ in list_own(before) if name not in now)
        spared = frozenset(name for name in effects.binds - bound.keys() if name in before)
        reads = self._readers.read(effects)
        self._readers.bind(bound, effects, reads)
        # What was bound to a name may be held under another, and is followed as it was.
        after = _follow_all(before, page)
        altered = {
            name
            for name, trail in self._trails_before.items()
            if (name in reads and trail.is_spent) or name not in after or not is_unchanged(trail, after[name])
        }
        altered |= {name for name in effects.alters & before.keys() if _can_change(before[name])}
        for name, trail in self._handed.items():
            now_held = self._look_into(name)
            if trail is None or now_held is None or not is_unchanged(trail, now_held):
                altered.add(name)
        for name in effects.patches:
            value = before.get(name, bound.get(name))
            if isinstance(value, ModuleType) or (isinstance(value, type) and value.__module__ != page):
                self.held.doubt(f"{name} is changed for all that use it")
        self._note_modules()
        if self._chance != {kind: drawn for kind, drawn in read_chance().items() if kind in self._chance}:
            self.held.doubt("random numbers are drawn that all share")
        if effects.is_dark:
            self.held.doubt("code that is not on the page may use its names")
        self._trails = {
            name: after[name] if before.get(name, GONE) is value else follow(value, page)
            for name, value in list_own(now)
            if may_change(value)
        }
        run = PieceRun(piece, outcome, effects, bound, removed, spared, frozenset(altered))
        self.held.runs.append(run)
        self.held.ran += 1
        return run

    def take(self, run: PieceRun) -> None:
        """Note a piece that does not run, since all it did is known."""
        self._readers.bind(run.bound, run.effects, self._readers.read(run.effects))
        self._trails = None
        namespace = vars(self.held.module)
        namespace.update(run.bound)
        for name in run.removed:
            namespace.pop(name, None)
        self.held.runs.append(run)

    def _note_modules(self) -> None:
        for name, module in list_own_modules().items():
            before = self._modules_before.get(name)
            if before and not holds_the_same(before, look_at(module)):
                self.held.doubt(f"the module {name} holds something else than before")


class Readers:
    """Knows, while one goes through pieces in order, what else is read with a name: what functions read later."""

    def __init__(self, page: str) -> None:
        """Take the name of the page's module, and begin with no names."""
        self._page = page
        self._later: dict[str, frozenset[str]] = {}

    def read(self, effects: Effects) -> frozenset[str]:
        """Return the names that a piece may read, also by what it calls."""
        reads, fresh = set(effects.reads), set(effects.reads)
        while fresh:
            fresh = {name for known in fresh for name in self._later.get(known, ())} - reads
            reads |= fresh
        return frozenset(reads)

    def bind(self, bound: Mapping[str, Any], effects: Effects, reads: frozenset[str]) -> None:
        """Note that a piece binds names, whose objects may call whatever it read or defined.

        Args:
            bound: The names with their objects, or with `GONE` where these are not known yet.
            effects: What the piece does.
            reads: What it reads.
        """
        carried = effects.later | {later for name in reads for later in self._later.get(name, ())}
        for name, value in bound.items():
            self._later[name] = list_called(value, self._page, carried)
        for name in (effects.alters | effects.hands_over) & self._later.keys():
            self._later[name] |= carried


def list_own(namespace: Namespace) -> Iterator[tuple[str, Any]]:
    """Yield the names of a page that are its own; those of its asserts and those that Python sets are not."""
    return ((name, value) for name, value in list(namespace.items()) if not name.startswith(("@", "__")))


def _follow_all(namespace: Namespace, page: str) -> dict[str, Trail]:
    return {name: follow(value, page) for name, value in list_own(namespace) if may_change(value)}


def _can_change(value: object) -> bool:
    return not isinstance(value, (*SIMPLE, tuple, frozenset))


def _may_take_up(value: object) -> bool:
    """Return whether something may be done to an object that following it would not tell."""
    return _can_change(value) and not isinstance(value, (*_TRAILED, ModuleType, FunctionType, type))
