"""How a line of Python is shown in few characters, and how compilers name what they make of an instruction."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xla_inspect.analysis.tracking import SourceLine
    from xla_inspect.captured import Capture

# What a symbol must not hold.
_UNFIT = re.compile(r"\W")


_CLOSING = {"(": ")", "[": "]", "{": "}"}


def fit_symbol(name: str) -> str:
    """Return the name of an instruction as compilers make a symbol of it."""
    return _UNFIT.sub("_", name)


def show_place(line: SourceLine) -> str:
    """Return a line of Python in few characters: the file without its folders, and the number."""
    return f"{line.file.rpartition('/')[2]}:{line.number}"


def read_line(capture: Capture, line: SourceLine) -> str:
    """Return the text of a line of Python, or an empty string where the capture does not hold its file."""
    lines = capture.sources.get(line.file, "").splitlines()
    return " ".join(lines[line.number - 1].split()) if line.number <= len(lines) else ""


def close_brackets(text: str) -> str:
    """Return a line of Python whose last bracket stays open, as that of a call over several lines, with it closed.

    Args:
        text: Such as `return pl.pallas_call(`, of which `return pl.pallas_call(...)` is made.
    """
    code = text.partition("  #")[0].rstrip()
    return f"{code}...{_CLOSING[code[-1]]}" if code and code[-1] in _CLOSING else text
