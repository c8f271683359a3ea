"""The sentences of a page and the labels that its blocks print, each with its line: everything a page says in words."""

from __future__ import annotations

import ast
import contextlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from livepage.read.blocks import Kind, read_pieces
from livepage.read.source_lines import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# The patterns of everything that is not prose, in the order in which they are blanked out.
_NO_PROSE = tuple(
    re.compile(pattern, re.MULTILINE | re.DOTALL)
    for pattern in (
        r"\A---\n.*?^---$",  # front matter
        r"^(?P<lead>[ \t>]*)(?P<fence>`{3,}|~{3,})[^\n`]*$.*?^(?P=lead)(?P=fence)[ \t]*$",
        r"<!--.*?-->",
        r"^--8<--.*$",  # includes a file
        r"(?<!\\)(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)",
        r"(?<=\])\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)",  # where a link leads
        r"<https?://[^>]*>",
        r"</?\w[^>]*>",
        r"\{:?\s*[#.][^}\n]*\}",  # attribute lists
        r"\[\^[^\]]*\]",  # footnotes
        r"^[ \t>]*\[[^\]]+\]:.*$",  # link definitions
        r"^[ \t>]*(?:\d+[.)](?=\s)|\*\*\d+\.\*\*)",  # numbers of list items and exercises
    )
)
FENCE = _NO_PROSE[1]
"""The pattern of a code block."""

VALUE = re.compile(r"(?<!`)`=\s")
"""The pattern of the beginning of a computed value."""

OUTPUT = "output"
"""The kind of a backing that consists of the output of blocks."""
READING = "reading"
"""The kind of a backing that is a person's reading, without code."""

LABELS = "labels: "
"""The prefix of the sentence that holds the labels of a block."""
_DESCRIPTION = re.compile(r"^(?:title|description):\s*(?P<text>.+)$")
_RUN = re.compile(r"\s(?:exec|check)=")
_HEADING = re.compile(r"\s*(?P<level>#{1,6})\s")
_NO_WORDS = re.compile(
    r"^\s*(?:[>*+-]\s+|#{1,6}\s+|\d+[.)]\s+|\*\*\d+\.\*\*\s*|:\s+|(?:!!!|\?\?\?\+?|===)\s*[\w ]*|\|)*"
)
_ATTRIBUTES = re.compile(r"\s*\{:?\s*[#.][^}]*\}\s*$")
# Headings, table rows and the titles of folds and tabs are one sentence each; list items and definitions begin one.
_WHOLE = re.compile(r"[ \t>]*(?:#{1,6}\s|\||!!!|\?\?\?|===)")
_STARTS = re.compile(r"[ \t>]*(?:[*+-]|\d+[.)]|:)\s")
_GAP = re.compile(r"[.?!][\"')\]*_`]*(?P<gap>\s+)(?=[\"'(\[*_]*[A-Z`])")
_SHORT = re.compile(r"(?:\b(?:e\.g|i\.e|vs|cf|etc|approx|Fig|No|Sec)|\b[A-Z])\.$")
_ROW_RULE = re.compile(r"^[\s|:-]+$")
_WORD = re.compile(r"[^\W\d_]{2,}|\b[A-Z]\d+\b")  # H100 is a word


@dataclass(frozen=True, slots=True)
class Check:
    """Code that can back a sentence: a check or a block.

    Attributes:
        title: The claim of a check, or the kind of another backing.
        code: The source.
        line: The line of the file on which the fence opens.
        section: The line of the heading above it, or 0.
    """

    title: str
    code: str
    line: int
    section: int = 0


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, heading, table row, line of displayed code, claim of a check, or the labels of a block.

    Attributes:
        text: The words, without the marks of lists, headings and tables in front of them.
        line: The line of the file on which the sentence begins.
        section: The line of the heading above it, or 0.
        backing: The code that backs the sentence, if a person has no choice between several backings.
    """

    text: str
    line: int
    section: int = 0
    backing: Check | None = None


@dataclass(frozen=True)
class Prose:
    """The sentences of a page, and the code that can back them.

    Attributes:
        name: The page's file, relative to the project.
        sentences: The sentences, in the order of lines.
        checks: The checks, in the order of lines.
        blocks: The other blocks, in the order of lines.
    """

    name: str
    sentences: tuple[Sentence, ...]
    checks: tuple[Check, ...] = ()
    blocks: tuple[Check, ...] = ()


def mask(text: str) -> str:
    """Return a page with everything that is not prose replaced by white space."""
    for pattern in _NO_PROSE:
        text = pattern.sub(_blank, text)
    return text


def read_sentences(name: str, text: str) -> Prose:
    """Return the sentences, checks and blocks of a Markdown page; included files are not part of its prose."""
    lines = text.split("\n")
    pieces = read_pieces(name, lines, [Origin(name, number) for number in range(1, len(lines) + 1)]).pieces
    checks = [
        Check(piece.options["check"], piece.code, piece.origin.line) for piece in pieces if piece.kind is Kind.CHECK
    ]
    code = [(piece.origin.line + 1, piece.code) for piece in pieces if piece.kind is Kind.BLOCK]
    return gather_sentences(name, text, checks, code)


def gather_sentences(name: str, text: str, checks: Iterable[Check], code: Iterable[tuple[int, str]]) -> Prose:
    """Return the sentences of a page and the code that can back them.

    Args:
        name: The page's file, relative to the project.
        text: The Markdown, with each line at its position in the file.
        checks: The page's checks.
        code: The source of the other code that runs, with the line on which it begins.
    """
    headings = [0, *_list_headings(text)]

    def section(line: int) -> int:
        return max(at for at in headings if at <= line)

    blocks = [Check(OUTPUT, source, line, section(line)) for line, source in code]
    placed = [Check(check.title, check.code, check.line, section(check.line)) for check in checks]
    sentences = [Sentence(words, line, section(line)) for line, words in list_sentences(text)]
    sentences += [
        Sentence(words, line, section(line), Check(READING, "", line, section(line)))
        for line, words in _list_shown(text)
    ]
    sentences += [Sentence(check.title, check.line, check.section, check) for check in placed]
    for block in blocks:
        if labels := _list_labels(block.code):
            line = block.line + min(line for line, _ in labels) - 1
            sentences.append(Sentence(LABELS + " | ".join(words for _, words in labels), line, block.section, block))
    return Prose(name, tuple(sorted(sentences, key=lambda one: one.line)), tuple(placed), tuple(blocks))


def list_sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of Markdown with their lines; each heading and each table row is one sentence."""
    inside_head, start, unit = text.startswith("---\n"), 0, list[str]()
    bare = text
    # Only whole-line patterns are blanked here: code, links and tags remain part of the sentence's words.
    for pattern in _NO_PROSE[:4]:
        bare = pattern.sub(_blank, bare)
    lines = zip(text.split("\n"), bare.split("\n"), mask(text).split("\n"), strict=True)
    for number, (line, visible, masked) in enumerate(lines, 1):
        if inside_head:
            inside_head = number == 1 or line != "---"
            if described := _DESCRIPTION.match(line):
                yield number, described["text"].strip("\"' ")
            continue
        is_whole = bool(_WHOLE.match(visible))
        if unit and (is_whole or not visible.strip() or _STARTS.match(visible)):
            yield from _split(start, unit)
            unit = []
        if unit:
            unit.append(visible)
        elif (_WORD.search(masked) or (masked.strip() and VALUE.search(line))) and not _ROW_RULE.match(line):
            # Code marks are blank in `masked`. A line of code marks alone has no words, but a row of values is a claim.
            start, unit = number, [visible]
        if unit and is_whole:
            yield start, _clean("\n".join(unit))
            unit = []
    yield from _split(start, unit)


def _list_shown(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of code that is displayed but does not run, including their comments."""
    for fence in FENCE.finditer(text):
        head, *body = fence[0].split("\n")
        if not _RUN.search(head):
            first = text.count("\n", 0, fence.start()) + 2
            for line, words in enumerate(body[:-1], first):
                if _WORD.search(words):
                    yield line, " ".join(words.split())


def _split(line: int, unit: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a paragraph with their lines."""
    text, first = "\n".join(unit), 0
    ends = [gap for gap in _GAP.finditer(text) if not _SHORT.search(text[: gap.start() + 1])] if unit else []
    for start, end in [*(gap.span("gap") for gap in ends), (len(text), len(text))]:
        if words := _clean(text[first:start]):
            yield line + text.count("\n", 0, first), words
        first = end


def _clean(text: str) -> str:
    return " ".join(_ATTRIBUTES.sub("", _NO_WORDS.sub("", text)).split())


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _list_headings(text: str) -> Iterator[int]:
    fenced = FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)
    for number, line in enumerate(fenced.split("\n"), 1):
        if _HEADING.match(line):
            yield number


def _list_labels(source: str) -> list[tuple[int, str]]:
    """Return the words that a block prints next to its computed values, each with its line."""
    labels = _Labels()
    with contextlib.suppress(SyntaxError):
        labels.visit(ast.parse(source))
    return labels.texts


class _Labels(ast.NodeVisitor):
    """The visitor that collects labels: printed words, text of two words or more, and other strings in such a row."""

    def __init__(self) -> None:
        self.texts: list[tuple[int, str]] = []
        self._listed = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for statement in node.body[ast.get_docstring(node) is not None :]:
            self.visit(statement)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        before, self._listed = (
            self._listed,
            self._listed or (isinstance(node.func, ast.Name) and node.func.id == "print"),
        )
        self.generic_visit(node)
        self._listed = before

    def visit_List(self, node: ast.List) -> None:
        self._visit_row(node.elts)

    def visit_Tuple(self, node: ast.Tuple) -> None:
        self._visit_row(node.elts)

    def visit_Dict(self, node: ast.Dict) -> None:
        # A key is a label if its value is a text, or a row that contains one.
        is_told = any(map(_is_text, _flatten(node.values)))
        self._visit_row([key for key in node.keys if key], is_told=is_told)
        self._visit_row(node.values)

    def visit_Constant(self, node: ast.Constant) -> None:
        if _is_text(node):
            self._add(node, str(node.value))

    def _visit_row(self, cells: Sequence[ast.expr], *, is_told: bool = False) -> None:
        is_told = is_told or self._listed or any(map(_is_text, cells))
        for cell in cells:
            if is_told and isinstance(cell, ast.Constant) and isinstance(cell.value, str):
                self._add(cell, cell.value)
            else:
                self.visit(cell)

    def _add(self, node: ast.Constant, text: str) -> None:
        if _WORD.search(text):
            self.texts.append((node.lineno, " ".join(text.split())))


def _flatten(cells: Iterable[ast.expr]) -> Iterator[ast.expr]:
    for cell in cells:
        yield from cell.elts if isinstance(cell, ast.Tuple | ast.List) else (cell,)


def _is_text(node: ast.expr) -> bool:
    """Return whether a constant is a string of two words or more."""
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, str) and len(_WORD.findall(value)) > 1 and " " in value.strip()
