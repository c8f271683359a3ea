"""Records of measured programs, with fingerprints of the programs and compilers, read from and written to a file."""

from __future__ import annotations

import json
from collections.abc import Mapping  # noqa: TC003
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from xla_inspect import store
from xla_inspect.budgets.fingerprint import Fingerprint
from xla_inspect.errors import InspectError
from xla_inspect.questions.diff import LineCount, Tally

if TYPE_CHECKING:
    from pathlib import Path

__tracebackhide__ = True
FORMAT = 1
"""The version of the format, increased whenever a field changes its meaning or is removed."""

_PARTS = ("kernels", "collectives", "memory")


@dataclass(frozen=True)
class Record:
    """The measurements of one program on one target.

    Attributes:
        fingerprint: The fingerprint of the program and its compiler.
        numbers: The measured numbers by name, such as `peak`.
        tally: The counts of kernels, collectives and memory by source line.
    """

    fingerprint: Fingerprint
    numbers: Mapping[str, float]
    tally: Tally

    @classmethod
    def read(cls, data: object, where: str) -> Self:
        """Convert the JSON data that `to_json` returns back to a record; `where` names its place in errors.

        Raises:
            InspectError: The data is not a record.
        """
        try:
            numbers = {str(name): float(number) for name, number in data["numbers"].items()}  # type: ignore[index]
            parts = [tuple(LineCount(**row) for row in data["lines"][part]) for part in _PARTS]  # type: ignore[index]
            fingerprint = data["fingerprint"]  # type: ignore[index]
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            message = f"{where} is not a record of a program: {type(error).__name__} {error}; record it again"
            raise InspectError(message) from error
        return cls(Fingerprint.read(fingerprint, where), numbers, Tally(*parts))

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON data."""
        lines = {part: [asdict(row) for row in getattr(self.tally, part)] for part in _PARTS}
        return {"fingerprint": self.fingerprint.to_json(), "numbers": dict(self.numbers), "lines": lines}


def read_records(path: Path, *, anew: bool = False) -> dict[str, Record]:
    """Return the records of a file by their keys; a missing file has no records.

    Args:
        path: The file.
        anew: Whether the file will be written again, so that an unreadable file counts as empty.

    Raises:
        InspectError: The file is not a file of records, or has another format.
    """
    try:
        return _read(path)
    except InspectError:
        if anew:
            return {}
        raise


def _read(path: Path) -> dict[str, Record]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        message = f"cannot read {path}: {error}"
        raise InspectError(message) from error
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        message = f"{path} is not a file of records: {error}; delete it and record again"
        raise InspectError(message) from error
    if not isinstance(data, dict) or data.get("format") != FORMAT or not isinstance(data.get("programs"), dict):
        version = data.get("format") if isinstance(data, dict) else None
        message = f"{path} has format {version!r}, but this xla-inspect reads format {FORMAT}; record it again"
        raise InspectError(message)
    return {key: Record.read(row, f"{path}: {key}") for key, row in data["programs"].items()}


def write_records(path: Path, records: Mapping[str, Record], *, keep: bool = True) -> None:
    """Write records into a file, and keep its other records, even if another process writes at the same time.

    Args:
        path: The file.
        records: The records by their keys.
        keep: Whether records with other keys remain; otherwise, they are removed.

    Raises:
        InspectError: The file cannot be written, or its other records cannot be read.
    """
    # The claim locks the file, so that concurrent writers do not lose each other's records.
    with store.Claim(path):
        stored = read_records(path) if keep else {}
        rows = {key: record.to_json() for key, record in sorted({**stored, **records}.items())}
        text = json.dumps({"format": FORMAT, "programs": rows}, indent=1, ensure_ascii=False)
        try:
            store.write_whole(path, f"{text}\n".encode())
        except OSError as error:
            message = f"cannot write {path}: {error.strerror}"
            raise InspectError(message) from error
