"""The reader of a saved capture (a JSON file) as a subject, and the test for such a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from xla_inspect.captured import Capture
from xla_inspect.errors import InspectError
from xla_inspect.subject.subject import Subject

if TYPE_CHECKING:
    from xla_inspect.subject.request import Request


def is_saved(subject: str) -> bool:
    """Return whether a subject names an existing `.json` file; its contents are not checked."""
    return subject.endswith(".json") and Path(subject).is_file()


def read_saved(request: Request) -> Subject:
    """Return the subject for a saved capture.

    Raises:
        InspectError: The file cannot be read, has no capture, or an option needs a new compile.
    """
    path = Path(request.words[0])
    if request.xla:
        message = f"{path} is a saved capture, which has no program to compile again with --xla"
        raise InspectError(message)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"{path} cannot be read: {error}"
        raise InspectError(message) from error
    try:
        capture = Capture.from_json(text)
    except InspectError as error:
        message = f"{path}: {error}"
        raise InspectError(message) from error
    return Subject(capture.program, saved={capture.target: capture})
