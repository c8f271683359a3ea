"""The position in a Python file from which an operation came."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Frame:
    """One level of a call chain: a file, a function, and a range in the file.

    Lines and columns count from 1. `end_line` is the last line; `end_column` is the column after the last character.
    """

    file: str
    function: str
    line: int
    column: int
    end_line: int
    end_column: int
