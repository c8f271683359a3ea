"""What the project says of each pass, joined to the passes that compilers were seen to run."""

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
INFERRED = "By its name"
KEYS = frozenset({"says", "sources", "log"})


class PassTableError(InspectError):
    """The table of passes and the passes that ran do not go together."""


@dataclass(frozen=True, slots=True)
class PassRow:
    """What the table holds of one pass.

    Attributes:
        name: What compilers call it.
        says: One sentence.
        sources: Files of openxla/xla, or `libtpu` where it is closed.
        log: Files that its log names beside those, without suffix.
    """

    name: str
    says: str
    sources: tuple[str, ...]
    log: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        """The id of its entry on the page."""
        return self.name.replace(" ", "_")

    @property
    def is_closed(self) -> bool:
        """Whether no source of it can be read."""
        return self.sources == (CLOSED,)

    @property
    def is_inferred(self) -> bool:
        """Whether its sentence goes by its name alone."""
        return self.says.startswith(INFERRED)

    @property
    def files(self) -> frozenset[str]:
        """The files that its log names, without suffix."""
        return frozenset({*(PurePosixPath(source).stem for source in self.sources), *self.log})


def read_rows(path: Path) -> dict[str, PassRow]:
    """Return the table, by the names of passes.

    Raises:
        PassTableError: A row says too little, or what it does not know.
    """
    table: dict[str, dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["passes"]
    return {name: _read_row(path, name, entry) for name, entry in table.items()}


def _read_row(path: Path, name: str, entry: Mapping[str, Any]) -> PassRow:
    if unknown := sorted(set(entry) - KEYS):
        message = f"{path}: {name}: no key is named {', '.join(unknown)}; the keys are {', '.join(sorted(KEYS))}"
        raise PassTableError(message)
    row = PassRow(name, entry.get("says", ""), tuple(entry.get("sources", ())), tuple(entry.get("log", ())))
    if not row.says.endswith("."):
        message = f"{path}: {name}: `says` is one sentence with a full stop"
        raise PassTableError(message)
    if not row.sources:
        message = f"{path}: {name}: `sources` names its files in openxla/xla, or {CLOSED!r} where it is closed"
        raise PassTableError(message)
    if row.is_inferred and not row.is_closed:
        message = f"{path}: {name}: its source can be read, so its sentence goes by more than its name"
        raise PassTableError(message)
    return row


def check_rows(rows: Mapping[str, PassRow], seen: Mapping[str, PassRecord]) -> None:
    """Hold the table against the passes that ran.

    Args:
        rows: The table.
        seen: What the captures hold, of all targets.

    Raises:
        PassTableError: A pass ran that the table lacks, or the other way round; or the table says what a closed pass
            does that no capture shows.
    """
    if missing := sorted(seen.keys() - rows.keys()):
        message = (
            f"docs/data/passes.toml lacks {', '.join(missing)}, which ran on {_list_targets(seen, missing)}: say in "
            f"one sentence what it does, with its source"
        )
        raise PassTableError(message)
    if gone := sorted(rows.keys() - seen.keys()):
        message = f"docs/data/passes.toml has {', '.join(gone)}, which no longer runs on any target; take it out"
        raise PassTableError(message)
    for name, row in rows.items():
        if row.is_closed and not row.is_inferred and not seen[name].has_changed and not seen[name].inner:
            message = (
                f"docs/data/passes.toml: {name} is closed and changed nothing in the captures, so its sentence goes by "
                f"its name, and begins with {INFERRED!r}"
            )
            raise PassTableError(message)


def _list_targets(seen: Mapping[str, PassRecord], names: Collection[str]) -> str:
    return ", ".join(dict.fromkeys(target for name in names for target in seen[name].uses))
