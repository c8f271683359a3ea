"""The position in a Python file from which an operation came."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Frame:
    """One level of a call chain: a file, a function, and a range of lines and columns, which count from 1."""

    file: str
    function: str
    line: int
    column: int
    end_line: int
    end_column: int
