"""A set of captures to publish: an index, and files that are named by the SHA-256 of their content.

The index maps the key of each capture to the hash of its file. Its own name is a digest of the pinned versions and of
the code that makes captures, so that a clone finds the set that its own compilers and code would produce.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
import sys
import tomllib
from typing import TYPE_CHECKING

from common import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FORMAT = 1
"""The version of the index, which is increased when its meaning changes."""

FILES = "files"
"""The folder of the files in a set."""

SUFFIX = ".gz"
"""The suffix of the files in the cache of captures."""

GROUPS = ("package", "accelerators")
"""The dependency groups whose versions determine the result of a compilation."""

_HASH = re.compile(r"[0-9a-f]{64}")
# The lines of disassembled code have a shorter key.
_KEY = re.compile(r"[0-9a-f]{32}(?:[0-9a-f]{32})?")


class CaptureSetError(Exception):
    """A damaged set of captures, or one that this version cannot read."""


def name_index() -> str:
    """Return the name of the index for this checkout's pinned versions, code and platform."""
    from xla_inspect.compilation import hash_code

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    pins = [pin for group in GROUPS for pin in project["dependency-groups"][group]]
    pins += project["tool"]["uv"]["constraint-dependencies"]
    basis = [sorted(pins), hash_code(), sys.platform, platform.machine()]
    return f"{hash_bytes(json.dumps(basis).encode())}.json"


def hash_bytes(data: bytes) -> str:
    """Return the SHA-256 of data in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def read_index(text: bytes) -> dict[str, str]:
    """Return the hash of each capture's file by the capture's key.

    Raises:
        CaptureSetError: The text is not an index of this format.
    """
    try:
        record = json.loads(text)
    except ValueError as error:
        message = "its index is not JSON"
        raise CaptureSetError(message) from error
    files = record.get("files") if isinstance(record, dict) and record.get("format") == FORMAT else None
    # Keys become file names, so nothing but a hash may pass.
    if not isinstance(files, dict) or not all(_is_valid(*pair) for pair in files.items()):
        message = "its index has another format"
        raise CaptureSetError(message)
    return files


def _is_valid(key: str, digest: object) -> bool:
    return bool(_KEY.fullmatch(key) and isinstance(digest, str) and _HASH.fullmatch(digest))


def write_set(captures: Iterable[Path], folder: Path, index: str) -> None:
    """Write files of the cache as a set into a folder.

    Args:
        captures: The files in the cache; the name of each is its key with a suffix.
        folder: The folder to create; an existing set in it must be removed before.
        index: The name of the index.
    """
    (folder / FILES).mkdir(parents=True)
    hashes: dict[str, str] = {}
    for path in sorted(captures):
        data = path.read_bytes()
        hashes[path.name.removesuffix(SUFFIX)] = hash_bytes(data)
        (folder / FILES / hash_bytes(data)).write_bytes(data)
    text = json.dumps({"format": FORMAT, "files": hashes}, indent=1)
    (folder / index).write_text(f"{text}\n", encoding="utf-8")


def check_set(folder: Path) -> int:
    """Return the number of captures in a set, after comparing each file with the index.

    Raises:
        CaptureSetError: The folder is not exactly one set, or a file does not have the content that the index lists.
    """
    indexes = list(folder.glob("*.json"))
    if len(indexes) != 1:
        message = f"it holds {len(indexes)} indexes instead of one"
        raise CaptureSetError(message)
    files = read_index(indexes[0].read_bytes())
    present = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    if present != {indexes[0].name, *(f"{FILES}/{digest}" for digest in files.values())}:
        message = "its files are not those that the index lists"
        raise CaptureSetError(message)
    for digest in files.values():
        if hash_bytes((folder / FILES / digest).read_bytes()) != digest:
            message = f"the content of {FILES}/{digest} has another hash"
            raise CaptureSetError(message)
    return len(files)
