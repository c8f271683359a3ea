"""Detection of truncated HLO texts: the end is missing, so the last lines are not valid."""

from __future__ import annotations

import re

from xla_inspect.errors import HloSyntaxError

_PRINTED = re.compile(r"\s*HloModule [^\n]*\b(?:entry_computation|is_scheduled)")
_ENTRY = re.compile(r"^[ \t]*ENTRY\b", re.MULTILINE)
_START = re.compile(r"(?:ENTRY )?%?([\w.-]+) .*\{\s*")


def check_end(text: str, line: int) -> None:
    """Do nothing where a text that makes no sense on a line goes on behind it, or ends as a module does.

    Args:
        text: The text.
        line: The line that makes no sense, counted from 1.

    Raises:
        HloSyntaxError: The text is cut off there.
    """
    lines = text.rstrip().split("\n")
    if line < len(lines) or lines[-1].lstrip().startswith("}"):
        return
    for number in range(len(lines), 0, -1):
        if lines[number - 1].startswith("}"):
            break
        if match := _START.fullmatch(lines[number - 1]):
            where = f"in the middle of computation {match[1]!r}, which starts on line {number}"
            _fail(where, lines)
    check_entry(text)


def check_entry(text: str) -> None:
    """Do nothing where a text that XLA printed has the computation where the program starts.

    Raises:
        HloSyntaxError: The text is cut off before that.
    """
    if _PRINTED.match(text) and not _ENTRY.search(text):
        _fail("before the ENTRY computation", text.rstrip().split("\n"))


def _fail(where: str, lines: list[str]) -> None:
    message = f"the text is cut off: it ends {where}; copy or save the whole module"
    raise HloSyntaxError(message, len(lines), len(lines[-1]) + 1)
