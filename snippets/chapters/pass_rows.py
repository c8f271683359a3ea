"""The table of passes, docs/data/passes.toml, checked against the passes that compilers ran."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from chapters.pass_index import PassRecord

CLOSED = "libtpu"
INFERRED = "Its name suggests"
KEYS = frozenset({"says", "sources", "log"})


class PassTableError(InspectError):
    """The table of passes does not match the passes that ran."""


@dataclass(frozen=True, slots=True)
class PassRow:
    """One pass as the table describes it.

    Attributes:
        name: The name that compilers use.
        says: One sentence: what the pass does.
        sources: The files of openxla/xla that define it, or `libtpu` for a closed pass.
        log: Further files that its log messages come from, without suffix.
    """

    name: str
    says: str
    sources: tuple[str, ...]
    log: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        """The HTML id of its entry on the page."""
        return self.name.replace(" ", "_")

    @property
    def is_closed(self) -> bool:
        """True if its source is not public."""
        return self.sources == (CLOSED,)

    @property
    def is_inferred(self) -> bool:
        """True if its sentence rests on its name alone."""
        return self.says.startswith(INFERRED)

    @property
    def files(self) -> frozenset[str]:
        """The files that its log messages come from, without suffix."""
        return frozenset({*(PurePosixPath(source).stem for source in self.sources), *self.log})


def read_rows(path: Path) -> dict[str, PassRow]:
    """Return the rows of the table by the name of the pass.

    Raises:
        PassTableError: A row is incomplete, has an unknown key, or guesses about a pass whose source is public.
    """
    table: dict[str, dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["passes"]
    return {name: _read_row(path, name, entry) for name, entry in table.items()}


def _read_row(path: Path, name: str, entry: Mapping[str, Any]) -> PassRow:
    if unknown := sorted(set(entry) - KEYS):
        message = f"{path}: {name}: unknown key {', '.join(unknown)}; the keys are {', '.join(sorted(KEYS))}"
        raise PassTableError(message)
    row = PassRow(name, entry.get("says", ""), tuple(entry.get("sources", ())), tuple(entry.get("log", ())))
    if not row.says.endswith("."):
        message = f"{path}: {name}: `says` must be one sentence that ends with a period"
        raise PassTableError(message)
    if not row.sources:
        message = f"{path}: {name}: `sources` must list its files in openxla/xla, or {CLOSED!r} for a closed pass"
        raise PassTableError(message)
    if row.is_inferred and not row.is_closed:
        message = f"{path}: {name}: its source is public, so its sentence must not begin with {INFERRED!r}"
        raise PassTableError(message)
    return row


def check_rows(rows: Mapping[str, PassRow], records: Mapping[str, PassRecord]) -> None:
    """Check the table against the passes that ran.

    Args:
        rows: The table.
        records: The passes in the captures of all targets, by name.

    Raises:
        PassTableError: A pass ran and is not in the table, or is in the table and did not run; or the table describes
            a closed pass as if a capture showed its effect, and none does.
    """
    if missing := sorted(records.keys() - rows.keys()):
        message = (
            f"docs/data/passes.toml lacks {', '.join(missing)}, which ran on {_list_targets(records, missing)}: "
            f"add a row with one sentence about what it does, and its source"
        )
        raise PassTableError(message)
    if stale := sorted(rows.keys() - records.keys()):
        message = f"docs/data/passes.toml has {', '.join(stale)}, which no longer runs on any target: remove it"
        raise PassTableError(message)
    for name, row in rows.items():
        if row.is_closed and not row.is_inferred and not records[name].has_changed and not records[name].inner:
            message = (
                f"docs/data/passes.toml: {name} is closed and changed nothing in the captures, so its sentence can "
                f"rest on its name only: begin it with {INFERRED!r}"
            )
            raise PassTableError(message)


def _list_targets(records: Mapping[str, PassRecord], names: Collection[str]) -> str:
    return ", ".join(dict.fromkeys(target for name in names for target in records[name].uses))
