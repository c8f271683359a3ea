"""Read what another compiler did with the four programs, as its script recorded it.

Needs nothing but the standard library, and refuses a record that its script, as it stands, did not write.
"""

from __future__ import annotations

import ast
import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FOLDER = Path(__file__).resolve().parent
SCRIPT, RECORD = "run.py", "record.json"


class StaleRecordError(Exception):
    """A record that its script, as it stands, did not write."""


@dataclass(frozen=True)
class Record:
    """What one compiler did with the four programs.

    Attributes:
        peer: The name of its folder.
        given: What names the numbers it computed on.
        versions: Package to version, of all that its environment holds; `python` is among them.
        kernels: Program to the names of what is launched one after the other.
        error_below: Program to a bound on the largest difference to the reference.
        facts: What else was counted or named.
        texts: Name to what the compiler printed.
    """

    peer: str
    given: str
    versions: Mapping[str, str]
    kernels: Mapping[str, tuple[str, ...]]
    error_below: Mapping[str, float]
    facts: Mapping[str, Any]
    texts: Mapping[str, str]


def names() -> list[str]:
    """Return the compilers that have a script, in alphabetical order."""
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{SCRIPT}"))


def read(peer: str, folder: Path = FOLDER) -> Record:
    """Return the record of a compiler.

    Raises:
        StaleRecordError: There is none, its script was changed since, or it was changed by hand.
    """
    path = folder / peer / RECORD
    shown = f"snippets/peers/{peer}/{RECORD}"
    if not path.is_file():
        message = f"{shown} does not exist: `scripts/peers {peer} --update` writes it"
        raise StaleRecordError(message)
    content = json.loads(path.read_text(encoding="utf-8"))
    if content.get("script") != hash_script(folder / peer):
        message = (
            f"{shown} was not written by snippets/peers/{peer}/{SCRIPT} as it stands: "
            f"run `scripts/peers {peer} --update` and look at what changed"
        )
        raise StaleRecordError(message)
    if not is_whole(content):
        message = (
            f"{shown} was changed by hand: run `scripts/peers {peer} --update`, "
            f"and change snippets/peers/{peer}/{SCRIPT} for another record"
        )
        raise StaleRecordError(message)
    return Record(
        peer=content["peer"],
        given=content["given"],
        versions=content["versions"],
        kernels={program: tuple(kernels) for program, kernels in content["kernels"].items()},
        error_below=content["error_below"],
        facts=content["facts"],
        texts={name: "\n".join(lines) for name, lines in content["texts"].items()},
    )


def render(content: Mapping[str, Any]) -> str:
    """Return a record as its file holds it: one line of a text to a line, and a hash of the whole at the end."""
    return json.dumps({**content, "record": _hash(content)}, indent=1, ensure_ascii=False) + "\n"


def is_whole(content: Mapping[str, Any]) -> bool:
    """Return whether a record, as its file holds it, is as it was written."""
    rest = {name: value for name, value in content.items() if name != "record"}
    return bool(content.get("record") == _hash(rest))


def hash_script(folder: Path) -> str:
    """Return the hash of all that decides on a record: the files beside it, and what of `peers` these import."""
    found = hashlib.sha256()
    for path in sorted(list_sources(folder)):
        found.update(path.relative_to(folder.parent).as_posix().encode() + b"\0")
        found.update(path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return found.hexdigest()


def list_sources(folder: Path) -> set[Path]:
    """Return the files of a compiler's folder but the record, and every module or package of `peers` they import."""
    waiting, found = _list_folder(folder), set[Path]()
    while waiting:
        path = waiting.pop()
        if path in found or path.name == Path(__file__).name:
            continue
        found.add(path)
        if path.suffix == ".py":
            for name in _imported(path.read_text(encoding="utf-8")):
                module = folder.parent / name
                waiting += _list_folder(module) if module.is_dir() else [module.with_suffix(".py")]
    return found


def _list_folder(folder: Path) -> list[Path]:
    hidden = {RECORD, "__pycache__"}
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and not hidden & set(path.parts)]


@cache
def _imported(source: str) -> frozenset[str]:
    """Return the names below `peers` that a source imports: `given` for `from peers.given import inputs`."""
    return frozenset(_walk_imports(ast.parse(source)))


def _walk_imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module="peers"):
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom(module=str(module)) if module.startswith("peers."):
                yield module.split(".")[1]
            case ast.Import():
                yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("peers."))


def _hash(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()
