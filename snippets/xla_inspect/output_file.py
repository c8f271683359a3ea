"""The file that a command writes its answer to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from pathlib import Path


def check_output(path: Path, *, force: bool) -> None:
    """Do nothing where a file may be written.

    Raises:
        InspectError: It is there, and nobody said that it may go; or its folder is not.
    """
    if path.exists() and not force:
        message = f"{path} is there already; name another file, or say --force to overwrite it"
        raise InspectError(message)
    if not path.parent.is_dir():
        message = f"cannot write {path}: there is no folder {path.parent}"
        raise InspectError(message)


def write_file(path: Path, text: str) -> None:
    """Write a file.

    Raises:
        InspectError: It cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        message = f"cannot write {path}: {error.strerror}"
        raise InspectError(message) from error
