"""Budget records round-trip, keep entries of other programs, and are rejected if invalid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from xla_inspect.budgets import Record, read_records, write_records
from xla_inspect.budgets.fingerprint import Fingerprint
from xla_inspect.errors import InspectError
from xla_inspect.questions.diff import LineCount, Tally

if TYPE_CHECKING:
    from pathlib import Path

KERNEL = LineCount("kLoop", "train.py", 3, "return x + 1", 2)
RECORD = Record(
    Fingerprint({"jax": "0.12.0"}, {}, "program", {"train.py": "text"}, "call", {}),
    {"peak": 1024.0, "kernels": 2.0},
    Tally((KERNEL,), (), ()),
)


def test_records_round_trip_and_other_records_stay(tmp_path: Path) -> None:
    path = tmp_path / "test_step.xla-record.json"
    assert read_records(path) == {}
    write_records(path, {"one": RECORD})
    write_records(path, {"two": RECORD})
    assert read_records(path) == {"one": RECORD, "two": RECORD}
    write_records(path, {"three": RECORD}, keep=False)
    assert list(read_records(path)) == ["three"]
    assert [record_file.name for record_file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a file of records"),
        ("[" * 100_000, "is not a file of records"),
        ("[]", "has format None, but this xla-inspect reads format 1; record it again"),
        ('{"format": 2, "programs": {}}', "has format 2"),
        ('{"format": 1, "programs": {"step": {}}}', "step is not a record of a program: KeyError"),
        ('{"format": 1, "programs": {"step": 3}}', "step is not a record of a program: TypeError"),
    ],
)
def test_an_invalid_record_is_rejected_and_can_be_recorded_again(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InspectError) as raised:
        read_records(path)
    assert message in str(raised.value)
    assert read_records(path, anew=True) == {}
    with pytest.raises(InspectError):
        write_records(path, {"step": RECORD})  # the others would be lost
    assert path.read_text(encoding="utf-8") == text
    write_records(path, {"step": RECORD}, keep=False)
    assert read_records(path) == {"step": RECORD}
    with pytest.raises(InspectError, match="cannot"):
        write_records(tmp_path / "record.json" / "below.json", {})
