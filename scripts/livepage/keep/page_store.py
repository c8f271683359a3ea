"""The database of everything that was computed for pages: outcomes, renderings and converted notebooks.

Each entry is stored under all of its dependencies: a key of what is known in advance, and the inputs that were read
during the computation. With `LIVE=all` in the environment, an entry is only valid in the build that created it.
"""

from __future__ import annotations

import json
import os
import pickle
import sqlite3
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

from livepage.keep.common_key import hash_common, make_key
from livepage.keep.inputs import Inputs, hash_file
from livepage.read import log, project

FILE = ".cache/pages/pages.sqlite"
LIMIT = 4
"""The number of entries of one kind that are stored for a page, so that reverting an edit finds the old entry again."""

BUILD = "LIVEPAGE_BUILD"
"""The environment variable that passes the name of a build to the processes that it starts."""

STORE_OFF = "LIVEPAGE_STORE_OFF"
"""The environment variable that turns the store off for a process that runs pages under changed conditions."""

_TABLE = """CREATE TABLE IF NOT EXISTS entries
(kind, name, key, inputs, build, text, used, data, PRIMARY KEY (kind, name, key, inputs))"""
_DROP = """DELETE FROM entries WHERE (kind, name) = (?, ?) AND rowid NOT IN
(SELECT rowid FROM entries WHERE (kind, name) = (?, ?) ORDER BY used DESC LIMIT ?)"""
_PATIENCE = 60.0


@dataclass(frozen=True)
class Entry:
    """A valid entry of the store.

    Attributes:
        data: The stored result.
        inputs: The inputs that the result depends on.
    """

    data: Any
    inputs: Inputs


def begin_build() -> None:
    """Give this build a new name, and set it in the environment."""
    os.environ[BUILD] = f"{os.getpid()}-{int.from_bytes(os.urandom(6))}"


def find_stored(kind: str, name: str, key: str) -> Entry | None:
    """Return the stored entry of a page under a key if none of its inputs has changed, or None.

    Args:
        kind: The kind of result.
        name: The page's file, relative to the project.
        key: A hash of the dependencies that are known in advance, including this package's own code.
    """
    if STORE_OFF in os.environ:
        return None
    query = "SELECT rowid, inputs, build, data FROM entries WHERE (kind, name, key) = (?, ?, ?) ORDER BY used DESC"
    for row, facts, build, data in _execute(query, kind, name, key):
        inputs = Inputs(**json.loads(facts))
        if _is_current(build, inputs):
            _execute("UPDATE entries SET used = ? WHERE rowid = ?", time.time_ns(), row)
            return Entry(pickle.loads(data), inputs)  # noqa: S301 - written by this code, which the key names
    return None


def keep(kind: str, name: str, key: str, inputs: Inputs, data: object) -> None:
    """Store a result for a page, and delete all but its `LIMIT` most recently used results of this kind.

    A result with an input that cannot be stored is not saved.
    """
    if inputs.fleeting or STORE_OFF in os.environ:
        return
    facts = json.dumps(asdict(inputs), sort_keys=True)
    entry = (kind, name, key, facts, _name_build(), _hash_page(name), time.time_ns(), pickle.dumps(data))
    _execute("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *entry)
    _execute(_DROP, kind, name, kind, name, LIMIT)


def seems_kept(name: str) -> bool:
    """Return whether the store probably has a valid entry for a page's current text, with this machine's settings.

    Only `find_stored` decides for certain. If the store has no valid entry after all, the page runs later and alone,
    while the other processes wait.
    """
    last = "SELECT build, inputs FROM entries WHERE (name, text) = (?, ?) AND kind != ? ORDER BY used DESC LIMIT 1"
    rows = _execute(last, name, _hash_page(name), "renderings")
    return any(_is_current(build, Inputs(**json.loads(facts))) for build, facts in rows)


def _hash_page(name: str) -> str:
    """Return a hash of a page's text, all of the engine's code, the packages, Python's version, and the machine."""
    return make_key(hash_common("."), hash_file(str(project.root / name)))


def _execute(statement: str, *values: object) -> list[Any]:
    """Return the rows that a statement yields; replace a damaged database by a new one."""
    path = project.root / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with closing(sqlite3.connect(path, timeout=_PATIENCE)) as database, database:
            database.execute("PRAGMA synchronous = OFF")  # entries that a crash loses can be computed again
            database.execute(_TABLE)
            return database.execute(statement, values).fetchall()
    # A locked database is an `OperationalError`, which is a `DatabaseError` too, but must not delete the file.
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        log.info("%s is damaged: it is made again", FILE)
        path.unlink(missing_ok=True)
        return _execute(statement, *values)


def _is_current(build: str, inputs: Inputs) -> bool:
    return _name_build() in {"", build} and inputs.are_current()


def _name_build() -> str:
    """Return the name of this build if every page has to run in it, or an empty string."""
    return os.environ.get(BUILD, f"{os.getpid()}") if os.environ.get("LIVE") == "all" else ""
