"""A place in a Python file that an operation came from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Frame:
    """One level of a call chain: a range of a Python file, lines and columns counted from one."""

    file: str
    function: str
    line: int
    column: int
    end_line: int
    end_column: int
