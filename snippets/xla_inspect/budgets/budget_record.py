"""What was measured of programs once, with what they and their compilers were then: a file of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping  # noqa: TC003 - of dataclasses
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
"""Raised by one whenever a field changes its meaning or goes."""

_PARTS = ("kernels", "collectives", "memory")


@dataclass(frozen=True)
class Record:
    """What was measured of one program on one target.

    Attributes:
        fingerprint: What it was.
        numbers: What was measured, by name, such as `peak`.
        tally: What it had by line.
    """

    fingerprint: Fingerprint
    numbers: Mapping[str, float]
    tally: Tally

    @classmethod
    def read(cls, data: object, where: str) -> Self:
        """Return a record that `to_json` wrote.

        Raises:
            InspectError: It is none.
        """
        try:
            numbers = {str(name): float(number) for name, number in data["numbers"].items()}  # type: ignore[index]
            parts = [tuple(LineCount(**row) for row in data["lines"][part]) for part in _PARTS]  # type: ignore[index]
            fingerprint = data["fingerprint"]  # type: ignore[index]
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            message = f"{where} is no record of a program: {type(error).__name__} {error}; record it again"
            raise InspectError(message) from error
        return cls(Fingerprint.read(fingerprint, where), numbers, Tally(*parts))

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        lines = {part: [asdict(row) for row in getattr(self.tally, part)] for part in _PARTS}
        return {"fingerprint": self.fingerprint.to_json(), "numbers": dict(self.numbers), "lines": lines}


def read_records(path: Path, *, anew: bool = False) -> dict[str, Record]:
    """Return the records of a file by their keys; none where there is no file.

    Args:
        path: The file.
        anew: Whether it is written next, so that one which cannot be read holds none.

    Raises:
        InspectError: It is no such file, or one of another format.
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
        message = f"{path} is no record: {error}; take it away, and record again"
        raise InspectError(message) from error
    if not isinstance(data, dict) or data.get("format") != FORMAT or not isinstance(data.get("programs"), dict):
        found = data.get("format") if isinstance(data, dict) else None
        message = f"{path} is of the format {found!r}, and this xla-inspect reads {FORMAT}; record it again"
        raise InspectError(message)
    return {key: Record.read(row, f"{path}: {key}") for key, row in data["programs"].items()}


def write_records(path: Path, records: Mapping[str, Record], *, keep: bool = True) -> None:
    """Write records into a file; those of other keys stay, whoever writes at the same time.

    Args:
        path: The file.
        records: The records by their keys.
        keep: Whether those of other keys stay.

    Raises:
        InspectError: It cannot be written.
    """
    with store.Claim(path):
        known = read_records(path) if keep else {}
        rows = {key: record.to_json() for key, record in sorted({**known, **records}.items())}
        text = json.dumps({"format": FORMAT, "programs": rows}, indent=1, ensure_ascii=False)
        try:
            store.write_whole(path, f"{text}\n".encode())
        except OSError as error:
            message = f"cannot write {path}: {error.strerror}"
            raise InspectError(message) from error
