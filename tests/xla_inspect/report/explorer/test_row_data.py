"""Rows are written once, and computations are written as edits that can be read back."""

from __future__ import annotations

import random

from xla_inspect.report.explorer.row_data import RowTable, read_edit, read_rows, write_edit


def test_an_edit_turns_the_old_list_into_the_new_list() -> None:
    chance = random.Random(0)  # noqa: S311 - the same lists each time are wanted
    for _ in range(300):
        old = chance.sample(range(40), chance.randrange(30))
        new = chance.sample(range(60), chance.randrange(30))
        if chance.random() < 0.5:
            new = [*old[:5], *sorted(set(new) - set(old))[:3], *old[7:]]
        assert read_edit(old, write_edit(old, new)) == new


def test_unchanged_numbers_are_not_written_again() -> None:
    old = list(range(1000))
    new = [*old[:400], 1000, *old[401:700], *old[710:], 1001, 1002]
    assert write_edit(old, new) == [400, 1, 1000, 1, 299, 10, 0, 0, 290, 0, 1001, 2]
    assert write_edit(old, old) == []


def test_added_rows_and_computations_can_be_read_back() -> None:
    table = RowTable()
    rows = [(number, number % 7, -1, -1, -1) for number in range(50)]
    changes = [*rows[:20], (20, 90, -1, -1, -1), *rows[21:]]
    for module in (rows, changes, changes):
        table.add("main", is_entry=True, rows=module)
        edit = table.end_state()
    assert edit == []
    assert [name for name, _, _, _ in table.computations] == ["main", "main"]
    assert len(table.computations[1][3]) == 4
    content = read_rows(table.write())
    first = read_edit([], table.computations[0][3])
    second = read_edit(first, table.computations[1][3])
    assert [content[at] for at in second] == changes
