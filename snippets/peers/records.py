"""Read what another compiler did with the four programs, as its script recorded it.

Needs nothing but the standard library, and refuses a record that its script, as it stands, did not write.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import stamps

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
    if not stamps.is_sealed(content):
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
    return stamps.seal(json.dumps(content, indent=1, ensure_ascii=False))


def hash_script(folder: Path) -> str:
    """Return the hash of all that decides on a record: the files beside it, and what of `peers` these import."""
    found: str = closure.hash_files(list_sources(folder), folder.parent)
    return found


def list_sources(folder: Path) -> set[Path]:
    """Return the files of a compiler's folder but the record, and every module or package of `peers` they import."""
    places = {f"peers.{name}": place for name, place in closure.list_places(folder.parent).items()}
    own = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    files: Iterable[Path] = closure.find_files(own, places, whole=places)
    return {path for path in files if path.name not in {RECORD, Path(__file__).name}}


def _load_closure() -> Any:  # noqa: ANN401 - a module
    """Return `xla_inspect.closure` without its package, which would set the environment of the compiler that runs."""
    spec = importlib.util.spec_from_file_location("closure", FOLDER.parent / "xla_inspect" / "closure.py")
    assert spec is not None  # noqa: S101 - it is the path of a Python file
    assert spec.loader is not None  # noqa: S101 - likewise
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


closure = _load_closure()
