"""Parsers of single lines of HLO text (instructions, first and last lines of computations) that locate errors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NoReturn

from xla_inspect.errors import HloSyntaxError
from xla_inspect.hlo.attributes import ATTRIBUTE, BRACED, NAME, STRING, nest, split_attributes
from xla_inspect.hlo.module import Instruction
from xla_inspect.hlo.opcodes import resolve
from xla_inspect.hlo.shape import ShapeProblemError, read_shape, shape_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.hlo.shape import Shape

_INDEX = r"(?:#[0-9]{1,9})"
_REFERENCE = rf"%?{NAME}{_INDEX}*+"
_HEAD = rf"\s*+(ROOT )?+%?({NAME}) = "
_PARENTHESISED_SHAPE = nest(r"\(", r"\)", depth=8)
SHAPE = rf"(?:[a-z][a-z0-9]*+\[[^\[\]\s]*+\](?:{BRACED})?+|b?{_PARENTHESISED_SHAPE})"
_OPCODE = r"([a-z][a-z0-9\-]*+)"
_ARGUMENTS = nest(r"\(", r"\)")[2:-2]
# Group 5 matches plain names; group 6 matches anything else: literals, names with shapes or with comments.
_LINE = re.compile(
    rf"{_HEAD}({SHAPE}) {_OPCODE}\((?:({_REFERENCE}(?:, {_REFERENCE})*+)\)|({_ARGUMENTS})\))((?:, {ATTRIBUTE})*+)\s*+",
    re.ASCII,
)
# In printed text an instruction ends with its line; otherwise a comment or a line break may be a part of it.
_LINE_END = re.compile(r"[ \t]*+(?:\r?\n[ \t\r\n]*+(?![ \t\r\n,/])|\Z)")
_COMMENT = re.compile(r"/\*(?:[^*]|\*(?!/))*+\*/", re.ASCII)
_OPERAND = re.compile(rf"\s*+(?:({SHAPE}) )?+%?({NAME})((?:{_INDEX})*+)\s*+(?:(,)|$)", re.ASCII)
_BRACKET = re.compile(rf"[()\[\]{{}}]|{STRING}|\"", re.ASCII)
_HEADER = re.compile(
    rf"(ENTRY )?+%?({NAME}) (?:\(((?:[^()\"]++|{_PARENTHESISED_SHAPE})*+)\) -> ({SHAPE}) )?+\{{\s*+", re.ASCII
)

# Attributes that refer to computations, for text without `%` (xla/hlo/parser/hlo_parser.cc).
CALLING = frozenset({
    "calls", "to_apply", "body", "condition", "branch_computations", "true_computation", "false_computation",
    "select", "scatter", "called_computations", "comparator",
})  # fmt: skip
_CALLERS = frozenset({
    "all-reduce", "all-reduce-start", "async-start", "call", "conditional", "custom-call", "fusion", "map", "reduce",
    "reduce-scatter", "reduce-window", "scan", "scatter", "select-and-scatter", "sort", "while",
})  # fmt: skip
"""Opcodes that may refer to a computation without `%` even if their own name has a `%`."""
_NO_CALLS: Mapping[str, tuple[str, ...]] = {}
_CALLEES = re.compile(rf"%{NAME}|\{{%{NAME}(?:, ?%{NAME})*+\}}", re.ASCII)
_BARE_CALLEES = re.compile(rf"{NAME}|\{{{NAME}(?:, ?{NAME})*+\}}", re.ASCII)


def fail(message: str, line: int, text: str, offset: int) -> NoReturn:
    """Raise an `HloSyntaxError` for line number `line` at an offset in its `text`, clamped to the text's length."""
    raise HloSyntaxError(message, line, min(max(offset, 0), len(text)) + 1)


def match_printed(text: str, start: int) -> re.Match[str] | None:
    """Match an instruction at `start` that fills its line in the form of XLA's printer; return None otherwise."""
    match = _LINE.match(text, start)
    if match is None or match[5] is None or _LINE_END.match(text, match.end(7)) is None:
        return None
    line = text[start : match.end(7)]
    # White space in the pattern also matches line breaks, and `//` may begin a comment; both need the lexer.
    if "\n" in line or "//" in line:
        return None
    try:
        read_shape(match[3])
        _calls(match[7])
    except ValueError:
        return None
    return match


def read_instruction(text: str, line: int, computation: str) -> Instruction:
    """Return the instruction that the text of one line defines; `line` is its number in error messages.

    Raises:
        HloSyntaxError: The line contains no instruction, or one that this parser does not understand.
    """
    match = _LINE.fullmatch(text)
    if match is None:
        root, name, shape_text, opcode_text, plain, other, rest, opening = _take_apart(text, line)
    else:
        root, name, shape_text, opcode_text, plain, other, rest = match.groups()
        opening = match.end(4)
    try:
        shape = read_shape(shape_text)
        opcode, wrapped_opcode = _resolve(opcode_text)
        # Printed names have a `%`, so attributes without a `%` contain no calls and need not be split.
        is_plain = "%" not in rest and " =" not in rest and text.lstrip().startswith(("%", "ROOT %"))
        is_plain = is_plain and opcode not in _CALLERS
        calls = _NO_CALLS if is_plain else _calls(rest)
    except ShapeProblemError as problem:
        fail(problem.message, line, text, text.index(shape_text) + problem.offset)
    except ValueError as problem:
        fail(str(problem), line, text, opening - len(opcode_text))
    if shape.dtype == "tuple" and opcode in _STARTS:
        opcode, wrapped_opcode = _tell_apart(opcode, shape)
    literal = shapes = indices = None
    operands: tuple[str, ...] = ()
    if opcode in _LITERAL:
        literal = plain if other is None else other
        if opcode == "parameter" and not (literal.isascii() and literal.isdecimal()):
            fail(f"expected the number of a parameter, found {literal[:20]!r}", line, text, opening + 1)
    # The fast path: in printed text, operands are plain names without shapes.
    elif plain is not None and "#" not in plain:
        operands = tuple(plain.replace("%", "").split(", "))
    elif plain or other:
        operands, shapes, indices = _read_operands(plain or other or "", text, line, opening + 1)
    return Instruction(
        name,
        opcode,
        shape,
        operands,
        computation,
        text,
        root is not None,
        rest,
        calls,
        literal,
        wrapped_opcode,
        shapes,
        indices,
    )


# These are opcodes, but XLA's text also uses these names for an `async-start` around the plain opcode.
_STARTS = frozenset({"all-gather-start", "all-reduce-start", "collective-permute-start", "copy-start"})


def _tell_apart(opcode: str, shape: Shape) -> tuple[str, str | None]:
    """Return the true opcode of `all-gather-start` or the like, and the wrapped opcode if it is an `async-start`.

    Both have the same text, but the shape of an `async-start` begins with the tuple of its operands. The shape of an
    `all-gather-start` does so only for several operands, which XLA's parser also cannot tell apart; this follows XLA.
    """
    if shape.elements and shape.elements[0].is_tuple and len(shape.elements[0].elements) == 1:
        return "async-start", opcode.removesuffix("-start")
    return opcode, None


_LITERAL = frozenset({"parameter", "constant"})
_resolved: dict[str, tuple[str, str | None]] = {}


def _resolve(text: str) -> tuple[str, str | None]:
    opcodes = _resolved.get(text)
    if opcodes is None:
        opcodes = _resolved[text] = resolve(text)
    return opcodes


def _calls(rest: str) -> Mapping[str, tuple[str, ...]]:
    """Return the called computations by attribute: any value of `%names`, and bare names in known attributes.

    Raises:
        ValueError: An attribute contains a whole computation, which is not the printed form.
    """
    calls = {}
    for key, value in split_attributes(rest).items():
        if key == "control-predecessors":
            continue
        if _CALLEES.fullmatch(value) or (key in CALLING and _BARE_CALLEES.fullmatch(value)):
            names = value.strip("{}").replace("%", "").split(",")
            calls[key] = tuple(name.strip() for name in names)
        elif key in CALLING and value != "{}":
            message = f"expected the name of a computation after {key}="
            raise ValueError(message)
    return calls or _NO_CALLS


def _read_operands(
    arguments: str, text: str, line: int, offset: int
) -> tuple[tuple[str, ...], tuple[Shape, ...] | None, tuple[tuple[int, ...], ...] | None]:
    """Return the names of operands, their shapes, or None if not written, and tuple indices (`%b#0`), or None."""
    if "/*" in arguments:
        arguments = _COMMENT.sub(lambda comment: " " * len(comment.group()), arguments)
    names: list[str] = []
    shapes: list[Shape] = []
    indices: list[tuple[int, ...]] = []
    position = 0
    while position < len(arguments) or (names and len(names) != position and arguments.endswith(",")):
        match = _OPERAND.match(arguments, position)
        if match is None:
            fail(f"expected an operand, found {arguments[position : position + 20]!r}", line, text, offset + position)
        shape_text, name, index, _ = match.groups()
        if shape_text is not None:
            try:
                shapes.append(read_shape(shape_text))
            except ShapeProblemError as problem:
                fail(problem.message, line, text, offset + match.start(1) + problem.offset)
        names.append(name)
        indices.append(tuple(int(number) for number in index.split("#")[1:]))
        position = match.end()
    if shapes and len(shapes) != len(names):
        fail("some operands have a shape and some have none", line, text, offset)
    return tuple(names), tuple(shapes) or None, tuple(indices) if any(indices) else None


@cache
def _compile_pieces() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return the patterns of an instruction's parts with the names of what they match, for lines that `_LINE` rejects.

    Compiling patterns of attributes takes milliseconds, and most modules have no such line.
    """
    return (
        (re.compile(_HEAD, re.ASCII), "an instruction such as '%name = f32[] add(%a, %b)'"),
        (re.compile(rf" {_OPCODE}\(", re.ASCII), "an opcode and '('"),
        (re.compile(rf", {ATTRIBUTE}", re.ASCII), "an attribute such as ', dimensions={0}'"),
    )


@cache
def _compile_closing() -> re.Pattern[str]:
    """Return the pattern of the end of a computation with attributes, which few modules have."""
    return re.compile(rf"\}}((?:, {ATTRIBUTE})*+)\s*+", re.ASCII)


def _take_apart(text: str, line: int) -> tuple[str | None, str, str, str, str | None, str, str, int]:
    """Return the parts of a line (root mark, name, shape, opcode, operands, attributes) and the offset of its `(`."""
    (head, expect_head), (opcode, expect_opcode), (attribute, expect_attribute) = _compile_pieces()
    match = head.match(text)
    if match is None:
        fail(f"expected {expect_head}, found {text.strip()[:40]!r}", line, text, len(text) - len(text.lstrip()))
    root, name = match.groups()
    start = match.end()
    try:
        _, end = shape_at(text, start)
    except ShapeProblemError as problem:
        fail(problem.message, line, text, problem.offset)
    match = opcode.match(text, end)
    if match is None:
        fail(f"expected {expect_opcode}, found {text[end : end + 20]!r}", line, text, end)
    opening = match.end() - 1
    closing = _closing(text, opening, line)
    position = closing + 1
    rest_end = len(text.rstrip())
    while position < rest_end:
        piece = attribute.match(text, position)
        if piece is None:
            fail(f"expected {expect_attribute}, found {text[position : position + 30]!r}", line, text, position)
        position = piece.end()
    return (
        root,
        name,
        text[start:end],
        match.group(1),
        None,
        text[opening + 1 : closing],
        text[closing + 1 : rest_end],
        opening,
    )


def _closing(text: str, opening: int, line: int) -> int:
    """Return the offset of the bracket that closes the one at `opening`; raise `HloSyntaxError` if none does."""
    # Strings match as a whole, so a bracket inside a string is never seen here; a lone quote is an unclosed string.
    pairs = {")": "(", "]": "[", "}": "{"}
    stack: list[tuple[str, int]] = []
    for match in _BRACKET.finditer(text, opening):
        bracket = match.group()
        if bracket == '"':
            fail("a string does not end on its line", line, text, match.start())
        elif bracket in "([{":
            stack.append((bracket, match.start()))
        elif bracket in pairs:
            if stack[-1][0] != pairs[bracket]:
                fail(f"{bracket!r} does not close {stack[-1][0]!r}", line, text, match.start())
            stack.pop()
            if not stack:
                return match.start()
    return fail(f"{stack[-1][0]!r} is not closed on its line", line, text, stack[-1][1])


@dataclass(frozen=True, slots=True)
class Header:
    """The name on the first line of a computation, and whether the line begins with `ENTRY`; no signature is stored."""

    name: str
    is_entry: bool


def read_header(text: str, line: int) -> Header:
    """Parse the first line of a computation, with or without a signature.

    Raises:
        HloSyntaxError: The line is not the start of a computation.
    """
    match = _HEADER.fullmatch(text)
    if match is None:
        fail(f"expected a computation such as '%name (x: f32[8]) -> f32[8] {{', found {text[:40]!r}", line, text, 0)
    entry, name, _, _ = match.groups()
    return Header(name, entry is not None)


def read_closing(text: str, line: int) -> dict[str, str]:
    """Return the attributes on the last line of a computation: `}, execution_thread="host"`.

    Raises:
        HloSyntaxError: The brace is followed by something other than attributes.
    """
    if text == "}":
        return {}
    match = _compile_closing().fullmatch(text)
    if match is None:
        fail(f"expected the computation to end here, found {text[1:30]!r}", line, text, 1)
    return split_attributes(match.group(1))
