"""The record, kept in the cache, of the captures that were fetched, and of the last request to the remote."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from xla_inspect import store

if TYPE_CHECKING:
    from pathlib import Path

NAME = "fetched.json"
"""The name of the record in the folder of the cache; eviction removes only captures."""

ALARM = "A FETCHED CAPTURE DIFFERS FROM WHAT THE COMPILER PRODUCES HERE"
REMEDY = "Report this to the maintainers, and start again with CAPTURES=off."


@dataclass
class FetchRecord:
    """The state of a cache with respect to published captures.

    Attributes:
        head: The commit that was checked out at the last request.
        asked: The time of the last request, in seconds since the epoch.
        whole: Whether that request brought everything that was published for the commit.
        commit: The commit of the branch from which everything was fetched.
        files: The SHA-256 of each file that was ever fetched, by its key.
        unchecked: The keys of the fetched files of which no sample has been compiled again.
        differences: The descriptions of fetched captures that a compilation here contradicts.
    """

    head: str = ""
    asked: float = 0.0
    whole: bool = False
    commit: str = ""
    files: dict[str, str] = field(default_factory=dict)
    unchecked: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)

    def write(self, cache: Path) -> None:
        """Write the record into a cache.

        Raises:
            OSError: The folder cannot be written.
        """
        store.write_whole(cache / NAME, (json.dumps(asdict(self), indent=1) + "\n").encode())


def read_record(cache: Path) -> FetchRecord:
    """Return the record of a cache; an empty one if there is none or it is damaged."""
    try:
        return FetchRecord(**json.loads((cache / NAME).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return FetchRecord()
