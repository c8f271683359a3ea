"""Detection of truncated HLO text, whose last lines are invalid because the end is missing."""

from __future__ import annotations

import re

from xla_inspect.errors import HloSyntaxError

# Only XLA's printer writes this field of the header, or a schedule and signatures; a handwritten text may omit `ENTRY`.
_PRINTED = re.compile(r"\s*HloModule [^\n]*\b(?:entry_computation|is_scheduled[^\n]*\s+%?[\w.-]+ \([^\n]* -> )")
_ENTRY = re.compile(r"^[ \t]*ENTRY\b", re.MULTILINE)
_START = re.compile(r"(?:ENTRY )?%?([\w.-]+) .*\{\s*")


def check_end(text: str, line: int) -> None:
    """Raise an error if an invalid line is due to a truncated text; otherwise return nothing.

    Args:
        text: The whole HLO text.
        line: The number of the invalid line, counted from 1.

    Raises:
        HloSyntaxError: The text is cut off at that line.
    """
    lines = text.rstrip().split("\n")
    # An error before the last line, or in a text that ends with a brace, is not due to a missing end.
    if line < len(lines) or lines[-1].lstrip().startswith("}"):
        return
    # Search backward for the last open computation, which is the one that the text ends in.
    for number in range(len(lines), 0, -1):
        if lines[number - 1].startswith("}"):
            break
        if match := _START.fullmatch(lines[number - 1]):
            where = f"in the middle of computation {match[1]!r}, which starts on line {number}"
            _fail(where, lines)
    check_entry(text)
    # A handwritten text may be wrong in its last line, but XLA prints every line whole.
    if _PRINTED.match(text) or (len(lines) == 1 and text.lstrip().startswith("HloModule ")):
        _fail(f"in the middle of line {len(lines)}", lines)


def check_entry(text: str) -> None:
    """Raise an error if a text that XLA printed has no entry computation; a handwritten text may omit `ENTRY`.

    Raises:
        HloSyntaxError: The printed text is cut off before the entry computation.
    """
    if _PRINTED.match(text) and not _ENTRY.search(text):
        _fail("before the ENTRY computation", text.rstrip().split("\n"))


def _fail(where: str, lines: list[str]) -> None:
    message = f"the text is cut off: it ends {where}; copy or save the whole module"
    raise HloSyntaxError(message, len(lines), len(lines[-1]) + 1)
