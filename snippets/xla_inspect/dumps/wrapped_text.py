"""HLO text inside other text: a Python `repr`, a Markdown fence, quoted or logged lines, or prose."""

from __future__ import annotations

import html
import re
from itertools import chain, islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADER = re.compile(r"^(?P<front>[^\n]*?)\bHloModule[ \t]+[^\s,`'\"]+(?=,[ \t]|[ \t]*$)", re.MULTILINE)
_PRINTED = re.compile(r"HloModule [^\n]*, (?:is_scheduled|entry_computation_layout)=")
_ESCAPED = re.compile(
    r"\bHloModule (?:(?!HloModule )[^\n\\]|\\+[^n\n\\])*+\\+n(?:\\+n|ENTRY|%|\\*['\"],?$)", re.MULTILINE
)
_MLIR_HEADER = re.compile(
    r"^(?P<front>[^\n]*?)\bmodule(?: @(?:\"[^\"\n]*\"|\S+))?(?: attributes \{[^\n]*)? \{[ \t\r]*$", re.MULTILINE
)
_ESCAPED_MLIR = re.compile(r"\bmodule\b[^\n]*? \{\\+n")
_MLIR_CLOSING = re.compile(r"\}(?: loc\([^\n]*\))?")
_BESIDE_MLIR = re.compile(r"\s*(?:$|//|[#!])")
"""Lines outside an MLIR module: comments, and definitions of locations, attributes and types."""
_JOINT = re.compile(r"(['\"]),?[ \t]*\n\s*\1")
_ESCAPE = re.compile(r"\\([nrt'\"\\])")
_MEANINGS = {"n": "\n", "r": "", "t": "\t"}
_LONGEST = 300
"""The length of a text in front of a line from which it is not expected in front of the other lines."""
_TIME = re.compile(r"\d\d:\d\d:\d\d")
_FENCE = re.compile(r"[> \t]*(?:```|~~~)")
_FENCED = re.compile(rf"^{_FENCE.pattern}[^\n]*\n(.*?)^{_FENCE.pattern}", re.MULTILINE | re.DOTALL)
# The lines of a module outside its computations: tables of frames, heads and ends of computations, and comments.
_OUTSIDE = re.compile(r"\s*$|(?:File|Function|Stack)[A-Z]\w+s\s*$|\d+ [\"{]|.*\{\s*$|\s*(?://|/\*|\*/|#)|\}")
_CLOSING = re.compile(r"\}(?:, execution_thread=\"[^\"\n]*\")?")
_END = re.compile(rf"(?:.*[\s)])?{_CLOSING.pattern}")
"""The last line of a module; in handwritten text, the last instruction may precede the brace."""
_COMMENTS = re.compile(r"(?>\s*+(?://|#)[^\n]*+\n|\s*+/\*.*?\*/)*+\s*+HloModule ", re.DOTALL)


def list_wrapped(text: str) -> tuple[list[str], list[str]]:
    """Return the modules in a text without the text around them and in front of their lines, and all fenced blocks.

    Both lists are empty for a text that begins with a module, after comments, and ends with a computation.
    """
    if _COMMENTS.match(text) and _END.fullmatch(text.rstrip().rpartition("\n")[2].strip()):
        return [], []
    text = _unescape(text, _ESCAPED)
    text = html.unescape(text) if "-&gt;" in text else text
    modules = []
    for match in _HEADER.finditer(text):
        lines = _strip(_read_lines(text, match.start()), match["front"])
        # The line above may have the opening of a fence.
        above = text[text.rfind("\n", 0, max(match.start() - 1, 0)) + 1 : match.start()]
        module = "\n".join(_take(lines, is_fenced=bool(_FENCE.match(above))))
        # Prose may mention a module by name, but only a module has a printed header or instructions.
        if _PRINTED.match(module) or ("{\n" in module and " = " in module) or not match["front"].strip():
            modules.append(module)
    return modules, [] if modules else list_fenced(text)


def unwrap_mlir(text: str) -> list[str]:
    """Return the MLIR modules in a text without the text around them, or only the text itself if it is one module.

    A module keeps the numbers of its lines in the text, except for one in a Python `repr`.
    """
    plain = text if _MLIR_HEADER.search(text) else _unescape(text, _ESCAPED_MLIR)
    # A module inside another one is indented more.
    headers = [*_MLIR_HEADER.finditer(plain)]
    headers = [header for header in headers if header["front"].strip() or header["front"] == headers[0]["front"]]
    if not headers:
        return [text]
    before = plain[: headers[0].start()].split("\n")[:-1]
    is_alone = len(headers) == 1 and not headers[0]["front"].strip() and all(map(_BESIDE_MLIR.match, before))
    modules = []
    for header, end in zip(headers, [*(header.start() for header in headers[1:]), len(plain)], strict=True):
        module, is_closed = [], False
        for line in _strip(_read_lines(plain[:end], header.start()), header["front"]):
            if is_closed and not _BESIDE_MLIR.match(line):
                is_alone = False
                break
            closing = _MLIR_CLOSING.match(line)
            is_closed = is_closed or closing is not None
            module.append(f"{closing[0] if closing else line}\n")
        modules.append("\n" * plain.count("\n", 0, header.start()) + "".join(module))
    return [text] if is_alone else modules


def _unescape(text: str, escaped: re.Pattern[str]) -> str:
    """Return the text in a Python `repr`, which has the pattern, or the text as it is."""
    # The `repr` of a text may itself be a text of a notebook's file, and is then escaped twice.
    for _ in range(2):
        if escaped.search(joined := _JOINT.sub("", text)):
            text = _ESCAPE.sub(lambda match: _MEANINGS.get(match[1], match[1]), joined)
    return text


def list_fenced(text: str) -> list[str]:
    """Return all fenced blocks in a text of Markdown, also in a quotation."""
    return _FENCED.findall(re.sub(r"^> ?", "", text, flags=re.MULTILINE))


def count_lines_before(text: str, part: str) -> int:
    """Return the number of lines that a module has in front of it in a file's text, but not in its own text.

    The number is 0 if the module's lines differ from the file's.
    """
    module = part.lstrip()
    before, header, _ = text.partition(module.partition("\n")[0] or "HloModule")
    return before.count("\n") - part[: len(part) - len(module)].count("\n") if header else 0


def _read_lines(text: str, start: int) -> Iterator[str]:
    # Splitting the rest of a long log again for each of its modules would take too long.
    while start <= len(text):
        end = text.find("\n", start) % (len(text) + 1)
        yield text[start:end]
        start = end + 1


def _strip(lines: Iterator[str], front: str) -> Iterator[str]:
    """Yield lines without the text in front of each: the same one as in the first line, or one with other numbers."""
    yield next(lines)[len(front) :]
    first, core = [*islice(lines, 8)], front.rstrip()
    following, lines = [line for line in first if line.strip()][:3], chain(first, lines)
    # An empty line of a quotation ends without the blanks, and other lines keep their own indentation.
    tail = f"[ \\t]{{0,{len(front) - len(core)}}}" if core else f"(?:{front}|[ \\t]*$)"
    exact = re.escape(core) if len(front) < _LONGEST else ""
    loose = re.sub(r"(?:\\[ \t])+", r"[ \\t]+", re.sub(r"\d+", r"\\d+", exact))
    # Numbers tell the processes of a log apart, but with a time they differ between the lines of one process.
    forms = [re.compile(start + tail) for start in (exact, loose)[bool(_TIME.search(exact)) :]]
    if form := next((form for form in forms if front and any(map(form.match, following))), None):
        # Lines without it come from elsewhere, such as the other processes that write to the same log.
        lines = (line[match.end() :] for line in lines if (match := form.match(line)))
    yield from lines


def _take(lines: Iterator[str], *, is_fenced: bool) -> Iterator[str]:
    """Yield the lines of a module up to the first line that cannot belong to it."""
    yield next(lines)
    is_inside = False
    for line in lines:
        # Instructions are indented, or define a name.
        is_prose = line[:1] not in {"", " ", "\t", "}"} and " = " not in line if is_inside else not _OUTSIDE.match(line)
        if line.startswith("HloModule ") or _FENCE.match(line) or (is_prose and not is_fenced):
            return
        closing = _CLOSING.match(line)
        is_inside = not closing and (is_inside or line.rstrip().endswith("{"))
        yield closing[0] if closing else line
