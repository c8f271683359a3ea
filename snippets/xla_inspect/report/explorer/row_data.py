"""Rows of computations for the explorer: each row once, in columns, and each computation as an edit of another."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NONE = -1
COLUMNS = ("instruction", "text", "configuration", "origin", "place")

type Row = tuple[int, ...]
type Edit = list[int]


class RowTable:
    """The rows of all computations in all states, and the computations made of them.

    A module of many instructions changes little from state to state. So a computation is an edit of the one that stood
    there before, and a state an edit of the list of computations of the state before.
    """

    def __init__(self) -> None:
        """Begin with no row and no state."""
        self.rows: dict[Row, int] = {}
        self.written: list[int] = []
        self.known: dict[tuple[str, bool, tuple[int, ...]], int] = {}
        self.computations: list[tuple[str, bool, int, Edit]] = []
        self.held: list[tuple[int, ...]] = []
        # Numbers of the computations of this state and of the one before: in order, by name, and by their root.
        self.now: list[int] = []
        self.before: tuple[int, ...] = ()
        self.named: dict[str, int] = {}
        self.rooted: dict[int, int] = {}

    def add(self, name: str, *, is_entry: bool, rows: Sequence[Row]) -> None:
        """Add a computation to the state.

        Args:
            name: Its name.
            is_entry: Whether it is the entry.
            rows: What is said of each instruction, in the order of `COLUMNS`, the root at any place.
        """
        numbers = tuple(self._number(row) for row in rows)
        key = name, is_entry, numbers
        if key not in self.known:
            self.known[key] = len(self.computations)
            last = rows[-1][0] if rows else NONE
            base = self.named.get(name, self.rooted.get(last, NONE))
            edit = write_edit(self.held[base] if base >= 0 else (), numbers)
            self.computations.append((name, is_entry, base, edit))
            self.held.append(numbers)
        self.now.append(self.known[key])

    def _number(self, row: Row) -> int:
        known = self.rows.get(row)
        if known is None:
            known = self.rows[row] = len(self.rows)
            self.written.append(row[0])
        return known

    def end_state(self) -> Edit:
        """Return the state's computations as an edit of the list of those of the state before, and begin another."""
        numbers = tuple(self.now)
        self.named = {self.computations[number][0]: number for number in numbers}
        last = ((number, self.held[number][-1:]) for number in numbers)
        self.rooted = {self.written[rows[0]]: number for number, rows in last if rows}
        edit = write_edit(self.before, numbers)
        self.before, self.now = numbers, []
        return edit

    def write(self) -> dict[str, list[int]]:
        """Return the rows by column, each number as the difference from the one above."""
        columns = zip(*self.rows, strict=True) if self.rows else ([] for _ in COLUMNS)
        return {
            name: [after - before for before, after in pairwise([0, *column])]
            for name, column in zip(COLUMNS, columns, strict=True)
        }


def write_edit(old: Sequence[int], new: Sequence[int]) -> Edit:
    """Return what makes one list of different numbers of another: four numbers a change.

    The four are how many stay before the change, how many go, the first of those that come and how many come, each one
    more than the one before it.
    """
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    kept = _find_kept(old[first : len(old) - last], new[first : len(new) - last])
    stays = [*((first + a, first + b) for a, b in kept), (len(old) - last, len(new) - last)]
    edit: Edit = []
    at_old = at_new = first
    skipped = first
    for old_at, new_at in stays:
        if old_at > at_old or new_at > at_new:
            for begin, number in _find_runs(new[at_new:new_at]) or [(0, 0)]:
                edit += [skipped, old_at - at_old, begin, number]
                skipped, at_old = 0, old_at
        skipped += 1
        at_old, at_new = old_at + 1, new_at + 1
    return edit


def read_edit(old: Sequence[int], edit: Edit) -> list[int]:
    """Return what an edit makes of a list."""
    made, at = [], 0
    for index in range(0, len(edit), 4):
        skipped, gone, begin, number = edit[index : index + 4]
        made += [*old[at : at + skipped], *range(begin, begin + number)]
        at += skipped + gone
    return [*made, *old[at:]]


def read_rows(columns: Mapping[str, Sequence[int]]) -> list[Row]:
    """Return the rows that `RowTable.write` wrote."""
    return list(zip(*(accumulate(columns[name]) for name in COLUMNS), strict=True))


def _find_runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and the length of each run of numbers of which each is one more than the one before."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == sum(runs[-1]):
            runs[-1] = runs[-1][0], runs[-1][1] + 1
        else:
            runs.append((number, 1))
    return runs


def _find_kept(old: Sequence[int], new: Sequence[int]) -> list[tuple[int, int]]:
    """Return where the numbers stand that both lists have, as many as stand in the same order."""
    places = {number: at for at, number in enumerate(old)}
    both = [(places[number], at) for at, number in enumerate(new) if number in places]
    # The longest run of places that only grow: of each length the one that ends lowest, and what each came from.
    ends: list[int] = []
    chain: list[int] = []
    before: list[int] = []
    for index, (place, _) in enumerate(both):
        length = bisect_left(ends, place)
        before.append(chain[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        chain[length : length + 1] = [index]
    kept: list[tuple[int, int]] = []
    index = chain[-1] if chain else -1
    while index >= 0:
        kept.append(both[index])
        index = before[index]
    return kept[::-1]
