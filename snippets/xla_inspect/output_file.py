"""A check of a command's output file, and a function that writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from pathlib import Path


def check_output(path: Path, *, force: bool) -> None:
    """Raise an error unless a file may be written; nothing is written.

    Raises:
        InspectError: The file is a folder or exists and must not be overwritten, or its folder does not exist.
    """
    if path.is_dir():
        message = f"cannot write {path}: it is a folder; pass a file"
        raise InspectError(message)
    if path.exists() and not force:
        message = f"{path} already exists; pass another file, or --force to overwrite it"
        raise InspectError(message)
    if not path.parent.is_dir():
        message = f"cannot write {path}: there is no folder {path.parent}; create the folder first"
        raise InspectError(message)


def write_file(path: Path, text: str) -> None:
    """Write text to a file in UTF-8, and replace a file that exists.

    Raises:
        InspectError: The file cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        message = f"cannot write {path}: {error.strerror}"
        raise InspectError(message) from error
