"""Compact rows for the explorer: each row once, in columns, and each computation as an edit of another one."""

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
    """The rows of all computations in all states, and the computations that consist of these rows.

    A large module changes little from state to state. So a computation is stored as an edit of its previous version,
    and a state as an edit of the previous state's list of computations.
    """

    def __init__(self) -> None:
        """Start with no rows and no states."""
        self.rows: dict[Row, int] = {}
        self.written: list[int] = []
        self.known: dict[tuple[str, bool, tuple[int, ...]], int] = {}
        self.computations: list[tuple[str, bool, int, Edit]] = []
        self.rows_of: list[tuple[int, ...]] = []
        # Numbers of the computations of this state and of the previous one: in order, by name, and by their root.
        self.now: list[int] = []
        self.before: tuple[int, ...] = ()
        self.named: dict[str, int] = {}
        self.rooted: dict[int, int] = {}

    def add(self, name: str, *, is_entry: bool, rows: Sequence[Row]) -> None:
        """Add a computation to the current state.

        Args:
            name: The name of the computation.
            is_entry: Whether the computation is the entry computation.
            rows: The row of each instruction, in the order of `COLUMNS`. The root may be at any place.
        """
        numbers = tuple(self._number(row) for row in rows)
        key = name, is_entry, numbers
        if key not in self.known:
            self.known[key] = len(self.computations)
            last = rows[-1][0] if rows else NONE
            # Passes may rename a computation, so one with the same last instruction is the second choice.
            base = self.named.get(name, self.rooted.get(last, NONE))
            edit = write_edit(self.rows_of[base] if base >= 0 else (), numbers)
            self.computations.append((name, is_entry, base, edit))
            self.rows_of.append(numbers)
        self.now.append(self.known[key])

    def _number(self, row: Row) -> int:
        number = self.rows.get(row)
        if number is None:
            number = self.rows[row] = len(self.rows)
            # The dictionary does not give access by position, so the instruction of each row is stored again.
            self.written.append(row[0])
        return number

    def end_state(self) -> Edit:
        """Return the computations of the state as an edit of those of the previous state, and start a new state."""
        numbers = tuple(self.now)
        self.named = {self.computations[number][0]: number for number in numbers}
        last = ((number, self.rows_of[number][-1:]) for number in numbers)
        self.rooted = {self.written[rows[0]]: number for number, rows in last if rows}
        edit = write_edit(self.before, numbers)
        self.before, self.now = numbers, []
        return edit

    def write(self) -> dict[str, list[int]]:
        """Return the rows by column, each number as its difference from the number above."""
        columns = zip(*self.rows, strict=True) if self.rows else ([] for _ in COLUMNS)
        return {
            name: [after - before for before, after in pairwise([0, *column])]
            for name, column in zip(COLUMNS, columns, strict=True)
        }


def write_edit(old: Sequence[int], new: Sequence[int]) -> Edit:
    """Return the edit that turns one list of distinct numbers into another: four numbers for each change.

    The four numbers of a change are the count of unchanged numbers before it, the count of removed numbers, the first
    added number, and the count of added numbers, which are consecutive.
    """
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    common = _find_common(old[first : len(old) - last], new[first : len(new) - last])
    stays = [*((first + a, first + b) for a, b in common), (len(old) - last, len(new) - last)]
    edit: Edit = []
    at_old = at_new = first
    skipped = first
    for old_at, new_at in stays:
        if old_at > at_old or new_at > at_new:
            for begin, number in _find_runs(new[at_new:new_at]) or [(0, 0)]:
                edit += [skipped, old_at - at_old, begin, number]
                # Only the first change at a position counts the unchanged and removed numbers; the others only add.
                skipped, at_old = 0, old_at
        skipped += 1
        at_old, at_new = old_at + 1, new_at + 1
    return edit


def read_edit(old: Sequence[int], edit: Edit) -> list[int]:
    """Return the list of numbers that an edit, as `write_edit` returns it, makes of the list `old`."""
    numbers, at = [], 0
    for index in range(0, len(edit), 4):
        skipped, removals, begin, number = edit[index : index + 4]
        numbers += [*old[at : at + skipped], *range(begin, begin + number)]
        at += skipped + removals
    return [*numbers, *old[at:]]


def read_rows(columns: Mapping[str, Sequence[int]]) -> list[Row]:
    """Return the rows from the columns that `RowTable.write` returned."""
    return list(zip(*(accumulate(columns[name]) for name in COLUMNS), strict=True))


def _find_runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first number and the length of each run of consecutive numbers."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == sum(runs[-1]):
            runs[-1] = runs[-1][0], runs[-1][1] + 1
        else:
            runs.append((number, 1))
    return runs


def _find_common(old: Sequence[int], new: Sequence[int]) -> list[tuple[int, int]]:
    """Return the pairs of positions of a longest common subsequence of two lists of distinct numbers."""
    places = {number: at for at, number in enumerate(old)}
    both = [(places[number], at) for at, number in enumerate(new) if number in places]
    # A longest increasing subsequence of the places (patience sorting): for each length, the lowest last place and
    # the index where it ends, and for each index its predecessor.
    ends: list[int] = []
    chain: list[int] = []
    before: list[int] = []
    for index, (place, _) in enumerate(both):
        length = bisect_left(ends, place)
        before.append(chain[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        chain[length : length + 1] = [index]
    pairs: list[tuple[int, int]] = []
    index = chain[-1] if chain else -1
    while index >= 0:
        pairs.append(both[index])
        index = before[index]
    return pairs[::-1]
