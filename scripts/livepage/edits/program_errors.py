"""The errors of a program that was edited, each at its line."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONGEST = 4000
"""Letters of a message that are told."""


class ProgramErrors:
    """Hears of the errors of a run.

    Attributes:
        first: The first that came from the program: its `kind`, `message`, `line` and `column`; None without one.
    """

    def __init__(self, path: Path) -> None:
        """Take the program's file."""
        self._path = str(path)
        self.first: dict[str, Any] | None = None

    def hear(self, error: BaseException) -> None:
        """Note an error where it came from the program."""
        if self.first is None and (place := self._locate(error)):
            self.first = _tell("program", error, *place)

    def _locate(self, error: BaseException) -> tuple[int, int | None] | None:
        for each in _list_causes(error):
            if isinstance(each, SyntaxError) and each.filename == self._path and each.lineno:
                return each.lineno, each.offset
            frames = traceback.StackSummary.extract(traceback.walk_tb(each.__traceback__), lookup_lines=False)
            if lines := [frame.lineno for frame in frames if frame.filename == self._path and frame.lineno]:
                return lines[-1], None
        return None


def find_syntax_error(text: str, path: Path) -> dict[str, Any] | None:
    """Return what is wrong with the text of a program, as `ProgramErrors.first` does, or None."""
    try:
        compile(text, str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        return _tell("syntax", error, error.lineno or 1, error.offset)
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        return _tell("syntax", error, 1, None)
    return None


def _tell(kind: str, error: BaseException, line: int, column: int | None) -> dict[str, Any]:
    if isinstance(error, SyntaxError):
        message = f"{type(error).__name__}: {error.msg}"
    else:
        message = f"{type(error).__name__}: {error}"  # without the notes that a library adds
    return {"kind": kind, "message": message[:LONGEST], "line": line, "column": column}


def _list_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and those that led to it."""
    seen: list[BaseException] = []
    each: BaseException | None = error
    while each is not None and each not in seen:
        seen.append(each)
        yield each
        each = each.__cause__ or each.__context__
