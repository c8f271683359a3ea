"""The one store of what was made of pages: what they came to, what they were rendered to, what notebooks became.

Each entry lies in a database under all that it depends on: a key of what is known before, and the inputs that were met
on the way. With `LIVE=all` in the environment an entry counts in the build alone that made it.
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

from livepage.keep.inputs import Inputs, hash_file
from livepage.read import log, project

FILE = ".cache/pages/pages.sqlite"
LIMIT = 4
"""How many entries of one kind are kept of a page, so that who goes back to another text finds it again."""

BUILD = "LIVEPAGE_BUILD"
"""The variable that names a build to the processes that it starts."""

STORE_OFF = "LIVEPAGE_STORE_OFF"
"""The variable of a process that finds and keeps nothing: it runs pages as nobody else does."""

_TABLE = """CREATE TABLE IF NOT EXISTS entries
(kind, name, key, inputs, build, text, used, data, PRIMARY KEY (kind, name, key, inputs))"""
_DROP = """DELETE FROM entries WHERE (kind, name) = (?, ?) AND rowid NOT IN
(SELECT rowid FROM entries WHERE (kind, name) = (?, ?) ORDER BY used DESC LIMIT ?)"""
_PATIENCE = 60.0


@dataclass(frozen=True)
class Entry:
    """An entry that is current.

    Attributes:
        data: What was kept.
        inputs: Its inputs.
    """

    data: Any
    inputs: Inputs


def begin_build() -> None:
    """Begin a build."""
    os.environ[BUILD] = f"{os.getpid()}-{int.from_bytes(os.urandom(6))}"


def find_stored(kind: str, name: str, key: str) -> Entry | None:
    """Return what is kept of a page under a key, where its inputs are as they were, or None.

    Args:
        kind: What it is.
        name: The page's file, relative to the project.
        key: A hash of what it depends on and is known before, the engine's own code among it.
    """
    if STORE_OFF in os.environ:
        return None
    wanted = "SELECT rowid, inputs, build, data FROM entries WHERE (kind, name, key) = (?, ?, ?) ORDER BY used DESC"
    for row, facts, build, data in _execute(wanted, kind, name, key):
        inputs = Inputs(**json.loads(facts))
        if _is_current(build, inputs):
            _execute("UPDATE entries SET used = ? WHERE rowid = ?", time.time_ns(), row)
            return Entry(pickle.loads(data), inputs)  # noqa: S301 - written by this code, which the key names
    return None


def keep(kind: str, name: str, key: str, inputs: Inputs, data: object) -> None:
    """Keep what was made of a page, and drop what was not used for longest; nothing where it read what nobody keeps."""
    if inputs.fleeting or STORE_OFF in os.environ:
        return
    facts, text = json.dumps(asdict(inputs), sort_keys=True), hash_file(str(project.root / name))
    entry = (kind, name, key, facts, _name_build(), text, time.time_ns(), pickle.dumps(data))
    _execute("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *entry)
    _execute(_DROP, kind, name, kind, name, LIMIT)


def seems_kept(name: str) -> bool:
    """Return whether something is kept of a page's text as it is now; whether it is current, `find` says."""
    last = "SELECT build, inputs FROM entries WHERE (name, text) = (?, ?) AND kind != ? ORDER BY used DESC LIMIT 1"
    rows = _execute(last, name, hash_file(str(project.root / name)), "renderings")
    return any(_is_current(build, Inputs(**json.loads(facts))) for build, facts in rows)


def _execute(statement: str, *values: object) -> list[Any]:
    """Return the rows that the database answers with; one that is damaged is made again."""
    path = project.root / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with closing(sqlite3.connect(path, timeout=_PATIENCE)) as database, database:
            database.execute("PRAGMA synchronous = OFF")  # what a failing machine loses is made again
            database.execute(_TABLE)
            return database.execute(statement, values).fetchall()
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        log.info("%s is damaged: it is made again", FILE)
        path.unlink(missing_ok=True)
        return _execute(statement, *values)


def _is_current(build: str, inputs: Inputs) -> bool:
    return _name_build() in {"", build} and inputs.are_current()


def _name_build() -> str:
    """Return the name of this build where every page has to run in it, else an empty string."""
    return os.environ.get(BUILD, f"{os.getpid()}") if os.environ.get("LIVE") == "all" else ""
