"""What was recorded of the programs of one test, and what is to be recorded anew: a file beside the test's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.budgets.assertion_log import BrokenError
from xla_inspect.budgets.budget_record import Record, read_records, write_records

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from xla_inspect.budgets.compiled_program import CompiledProgram

ENDING = ".xla-record.json"
"""How the name of the file ends that holds the records of a file of tests."""


class Snapshots:
    """The records of one file of tests.

    Args:
        tests: The file.
        update: Whether they are made anew.
    """

    def __init__(self, tests: Path, *, update: bool = False) -> None:
        """Read what is recorded, when that is first asked for."""
        self.path = tests.with_name(f"{tests.stem}{ENDING}")
        self._update = update
        self._known: Mapping[str, Record] | None = None
        self._made: dict[str, Record] = {}
        self._counts: dict[str, int] = {}

    def name(self, test: str, program: str) -> str:
        """Return the key of the next program of a name that a test compiles."""
        key = f"{test} {program}"
        self._counts[key] = self._counts.get(key, 0) + 1
        return key if self._counts[key] == 1 else f"{key} #{self._counts[key]}"

    def forget_order(self, test: str) -> None:
        """Count the programs of a test from one again, as where it is run once more."""
        self._counts = {key: number for key, number in self._counts.items() if not key.startswith(f"{test} ")}

    def find(self, key: str) -> Record | None:
        """Return what was recorded under a key, or None.

        Raises:
            InspectError: The file is no record, or one of another format.
        """
        if self._known is None:
            self._known = {} if self._update else read_records(self.path)
        return self._known.get(key)

    def keep(self, key: str, program: CompiledProgram) -> None:
        """Take up what is to be recorded of a program, where records are made anew, and let it stand for the record."""
        if not self._update:
            return
        try:
            program.record = self._made[key] = program.make_record()
        except BrokenError:
            return  # what does not compile has nothing to be recorded

    def write(self) -> None:
        """Write what was taken up; records of other tests stay.

        Raises:
            InspectError: The file cannot be written.
        """
        if self._made:
            write_records(self.path, self._made)
            self._made = {}
