"""The project's table of passes, checked against the passes that compilers ran."""

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
    """A mismatch between the table of passes and the passes that ran."""


@dataclass(frozen=True, slots=True)
class PassRow:
    """The table's row of one pass.

    Attributes:
        name: The name that compilers give it.
        says: A one-sentence description.
        sources: Its files in openxla/xla, or `libtpu` if its source is closed.
        log: Further files whose log messages belong to the pass, without suffix.
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
        """True if the source code of the pass is closed."""
        return self.sources == (CLOSED,)

    @property
    def is_inferred(self) -> bool:
        """True if the description of the pass is inferred from its name alone."""
        return self.says.startswith(INFERRED)

    @property
    def files(self) -> frozenset[str]:
        """The files whose log messages belong to the pass, without suffix."""
        return frozenset({*(PurePosixPath(source).stem for source in self.sources), *self.log})


def read_rows(path: Path) -> dict[str, PassRow]:
    """Read the table of passes, and return its rows by the name of the pass.

    Raises:
        PassTableError: A row is incomplete, has an unknown key, or claims to be inferred although the source is open.
    """
    table: dict[str, dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["passes"]
    return {name: _read_row(path, name, entry) for name, entry in table.items()}


def _read_row(path: Path, name: str, entry: Mapping[str, Any]) -> PassRow:
    if unknown := sorted(set(entry) - KEYS):
        message = f"{path}: {name}: unknown key {', '.join(unknown)}; the keys are {', '.join(sorted(KEYS))}"
        raise PassTableError(message)
    row = PassRow(name, entry.get("says", ""), tuple(entry.get("sources", ())), tuple(entry.get("log", ())))
    if not row.says.endswith("."):
        message = f"{path}: {name}: `says` must be one sentence that ends with a full stop"
        raise PassTableError(message)
    if not row.sources:
        message = f"{path}: {name}: `sources` must list its files in openxla/xla, or {CLOSED!r} if its source is closed"
        raise PassTableError(message)
    if row.is_inferred and not row.is_closed:
        message = f"{path}: {name}: its source is open, so describe it from the source and not from its name"
        raise PassTableError(message)
    return row


def check_rows(rows: Mapping[str, PassRow], records: Mapping[str, PassRecord]) -> None:
    """Raise an error if the table of passes does not fit the passes that ran.

    Args:
        rows: The table.
        records: The record of each pass in the captures for all targets.

    Raises:
        PassTableError: The table lacks a pass that ran or lists one that did not, or describes a closed pass although
            no capture shows a change by it.
    """
    if missing := sorted(records.keys() - rows.keys()):
        message = (
            f"docs/data/passes.toml lacks {', '.join(missing)}, which ran on {_list_targets(records, missing)}: add "
            f"a sentence that describes it, and its source"
        )
        raise PassTableError(message)
    if surplus := sorted(rows.keys() - records.keys()):
        message = f"docs/data/passes.toml has {', '.join(surplus)}, which no longer runs on any target; remove it"
        raise PassTableError(message)
    for name, row in rows.items():
        # Without source code or a change in a capture, only the name of the pass is evidence.
        if row.is_closed and not row.is_inferred and not records[name].has_changed and not records[name].inner:
            message = (
                f"docs/data/passes.toml: {name} is closed source and changed nothing in the captures, so its sentence "
                f"is inferred from its name and must begin with {INFERRED!r}"
            )
            raise PassTableError(message)


def _list_targets(records: Mapping[str, PassRecord], names: Collection[str]) -> str:
    return ", ".join(dict.fromkeys(target for name in names for target in records[name].uses))
