"""The recorded results of other compilers for the four programs.

This module needs only the standard library, and rejects a record that the current script did not write.
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
    """An error about a record that the current script did not write."""


@dataclass(frozen=True)
class Record:
    """The results of one compiler for the four programs.

    Attributes:
        peer: The name of the compiler's folder.
        given: The hash of the input numbers.
        versions: The versions of all packages in its environment, by name, including `python`.
        kernels: The names of the launched kernels, in order, by program.
        error_below: An upper bound on the largest difference to the reference, by program.
        facts: Further counts and names.
        texts: The texts that the compiler printed, by name.
    """

    peer: str
    given: str
    versions: Mapping[str, str]
    kernels: Mapping[str, tuple[str, ...]]
    error_below: Mapping[str, float]
    facts: Mapping[str, Any]
    texts: Mapping[str, str]


def names() -> list[str]:
    """Return the names of the compilers that have a script, in alphabetical order."""
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{SCRIPT}"))


def read(peer: str, folder: Path = FOLDER) -> Record:
    """Return the record of a compiler.

    Raises:
        StaleRecordError: The record is missing or was changed by hand, or its script was changed afterwards.
    """
    path = folder / peer / RECORD
    label = f"snippets/peers/{peer}/{RECORD}"
    if not path.is_file():
        message = f"{label} does not exist: `scripts/peers {peer} --update` writes it"
        raise StaleRecordError(message)
    content = json.loads(path.read_text(encoding="utf-8"))
    if content.get("script") != hash_script(folder / peer):
        message = (
            f"{label} was not written by snippets/peers/{peer}/{SCRIPT} as it stands: "
            f"run `scripts/peers {peer} --update` and look at what changed"
        )
        raise StaleRecordError(message)
    if not stamps.is_sealed(content):
        message = (
            f"{label} was changed by hand: run `scripts/peers {peer} --update`, "
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
    """Return a record in the format of its file: JSON with a line for each line of a text, and a hash at the end."""
    return stamps.seal(json.dumps(content, indent=1, ensure_ascii=False))


def hash_script(folder: Path) -> str:
    """Return the hash of all files that determine a record: those in its folder, and the modules that they import."""
    digest: str = closure.hash_files(list_sources(folder), folder.parent)
    return digest


def list_sources(folder: Path) -> set[Path]:
    """Return the files of a compiler's folder except the record, and the modules of `peers` that they import."""
    places = {f"peers.{name}": place for name, place in closure.list_places(folder.parent).items()}
    own = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    files: Iterable[Path] = closure.find_files(own, places, whole=places)
    return {path for path in files if path.name not in {RECORD, Path(__file__).name}}


def _load_closure() -> Any:  # noqa: ANN401 - a module
    """Return `xla_inspect.closure` without importing its package, which would change the compiler's environment."""
    spec = importlib.util.spec_from_file_location("closure", FOLDER.parent / "xla_inspect" / "closure.py")
    assert spec is not None  # noqa: S101 - it is the path of a Python file
    assert spec.loader is not None  # noqa: S101 - likewise
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


closure = _load_closure()
