"""The records of the programs in one test file, stored next to that file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.budgets.assertion_log import BrokenError
from xla_inspect.budgets.budget_record import Record, read_records, write_records

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from xla_inspect.budgets.compiled_program import CompiledProgram

ENDING = ".xla-record.json"
"""The suffix of the file with the records of a test file."""


class Snapshots:
    """The records of one file of tests.

    Args:
        tests: The test file.
        update: Whether to record the programs again.
    """

    def __init__(self, tests: Path, *, update: bool = False) -> None:
        """Prepare to read the records on first use."""
        self.path = tests.with_name(f"{tests.stem}{ENDING}")
        self._update = update
        self._known: Mapping[str, Record] | None = None
        self._made: dict[str, Record] = {}
        self._counts: dict[str, int] = {}

    def name(self, test: str, program: str) -> str:
        """Return the key for a program that a test compiles: both names, and `#2` at the second call with both."""
        key = f"{test} {program}"
        self._counts[key] = self._counts.get(key, 0) + 1
        # A test may compile the same function several times; the first key stays plain so that most keys are
        # readable.
        return key if self._counts[key] == 1 else f"{key} #{self._counts[key]}"

    def forget_order(self, test: str) -> None:
        """Restart the count of a test's programs, because the test runs again."""
        self._counts = {key: number for key, number in self._counts.items() if not key.startswith(f"{test} ")}

    def find(self, key: str) -> Record | None:
        """Return the record that the file has for a key, or None; in update mode, the file is not read.

        Raises:
            InspectError: The file is not a file of records, or has another format.
        """
        if self._known is None:
            # In update mode a program is compared with its new record, so the old records are not read.
            self._known = {} if self._update else read_records(self.path)
        return self._known.get(key)

    def keep(self, key: str, program: CompiledProgram) -> None:
        """In update mode, make a record of a program that compiles, for `write` and for the program's assertions."""
        if not self._update:
            return
        try:
            program.record = self._made[key] = program.make_record()
        except BrokenError:
            return  # A program that does not compile has no numbers to record.

    def write(self) -> None:
        """Write the records that `keep` made into the file; other records in the file remain.

        Raises:
            InspectError: The file cannot be written.
        """
        if self._made:
            write_records(self.path, self._made)
            self._made = {}
