"""Functions that rewrite shapes, literals and the values of attributes in the form of XLA's printer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from xla_inspect.hlo.tokens import locate

if TYPE_CHECKING:
    from xla_inspect.hlo.source_map import Line
    from xla_inspect.hlo.tokens import Tokens

_MESHES = frozenset({"mesh", "maximal_mesh"})
_PAIRS = {")": "(", "]": "[", "}": "{"}
_CLOSING = {opening: closing for closing, opening in _PAIRS.items()}
_TIGHT_BEFORE = frozenset({")", "]", "}", ",", "=", ":", "<=", "->", "#", "*"})
_TIGHT_AFTER = frozenset({"(", "[", "{", ",", "=", ":", "<=", "->", "#", ""})
# In the values of these attributes, XLA prints a blank after each comma.
_SPACED = frozenset({
    "sharding", "slice", "operand_layout_constraints", "input_output_alias", "buffer_donor",
    "output_to_operand_aliasing", "domain", "entry_computation_layout", "origin", "origin_recovery_table",
    "outfeed_shape", "debug_attributes",
})  # fmt: skip
_DEEP = 8
"""The deepest nesting of a configuration that is written in braces; XLA may print a deeper one as a string too."""
_BLANK = re.compile(r"\s++")
_BREAK = re.compile(r"[ \t\r]*+\n\s*+")
_OPEN, _SHUT = frozenset({"", *"[{(,:"}), frozenset({"", *"]}):"})
_STRING = re.compile(r'("(?:[^"\\]++|\\[^\n])*+")')
_SIMPLE = re.compile(r"'[\w ./:\-]*+'", re.ASCII)
_LITERAL = re.compile(r"[^()/\"']*+")


def write_string(text: str) -> str:
    """Return a quoted token as XLA prints a string: in double quotes, on one line."""
    if text.startswith("'"):
        text = '"' + text[1:-1].replace("\\'", "'").replace('\\"', '"').replace('"', '\\"') + '"'
    return text.replace("\r", "\\r").replace("\n", "\\n")


def write_json(text: str) -> str:
    """Return a JSON object on one line, or as an escaped string in quotes if it nests deeper than `_DEEP` levels."""
    parts = _STRING.split(text)
    parts[::2] = [_BREAK.sub(_join, part) for part in parts[::2]]
    parts[1::2] = [write_string(part) for part in parts[1::2]]
    deepest = depth = 0
    for part in parts[::2]:
        for mark in part:
            depth += (mark in "{[") - (mark in "}]")
            deepest = max(deepest, depth)
    line = "".join(parts)
    return line if deepest <= _DEEP else '"' + line.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _join(broken: re.Match[str]) -> str:
    """Return the replacement for a line break: a blank between words, otherwise nothing."""
    text, start, end = broken.string, broken.start(), broken.end()
    return "" if text[max(start - 1, 0) : start] in _OPEN or text[end : end + 1] in _SHUT else " "


def is_shape(tokens: Tokens) -> bool:
    """Return whether a shape begins at the current token: `f32[`, a tuple, or `b(` for a buffer."""
    if tokens.kind == "word":
        return tokens.peek() == "[" or (tokens.value == "b" and tokens.peek() == "(")
    return tokens.at("(")


def take_shape(tokens: Tokens, line: Line) -> None:
    """Consume a shape and add it to a line in the form of XLA's printer.

    Raises:
        HloSyntaxError: No shape begins at the current token, or the shape does not end.
    """
    if not is_shape(tokens):
        tokens.fail("a shape such as f32[2,3]{1,0}")
    stack: list[str] = []
    while True:
        mark = tokens.value if tokens.kind == "mark" else ""
        if mark in _PAIRS:
            if not stack or stack[-1][-1] != _PAIRS[mark]:
                tokens.fail("a shape")
            stack.pop()
        elif mark and mark in "([{":
            # A parenthesis inside a layout opens a tile, whose commas are printed without blanks, unlike those of a
            # tuple.
            tile = mark == "(" and bool(stack) and stack[-1] == "{"
            stack.append("tile(" if tile else mark)
        # No shape contains these marks; without this test, an unclosed shape would consume the rest of the text.
        elif tokens.kind == "end" or mark in {"=", "->"}:
            tokens.fail("the end of the shape")
        elif tokens.kind in {"word", "name", "string"} and stack and stack[-1] == "[":
            tokens.fail("a size, ',' or ']'")
        line.put(", " if mark == "," and stack and stack[-1] == "(" else tokens.value, tokens.start)
        tokens.advance()
        if not stack and mark in _PAIRS and not (mark == "]" and _begins_layout(tokens)):
            return


def _begins_layout(tokens: Tokens) -> bool:
    """Return whether the current token is a brace that begins a layout rather than the body of a computation."""
    return tokens.at("{") and (tokens.peek()[:1].isdecimal() or tokens.peek() in {":", "}"})


def take_literal(tokens: Tokens, line: Line) -> None:
    """Consume the parentheses of a constant or a parameter, and add the text inside them to a line.

    Raises:
        HloSyntaxError: The parentheses are not closed.
    """
    start = tokens.expect("(")
    # A literal without parentheses, comments and strings needs no tokens, which are slow for a large constant.
    match = _LITERAL.match(tokens.text, start + 1)
    if match and tokens.text.startswith(")", match.end()):
        line.put(", ".join(part.strip() for part in _BLANK.sub(" ", match[0].strip()).split(",")), start + 1)
        tokens.move_to(match.end() + 1)
        return
    take_balanced(tokens, line, "literal", start)
    tokens.expect(")")


def take_balanced(tokens: Tokens, line: Line, key: str, opening: int | None = None) -> None:
    """Consume a value with balanced brackets and add it to a line.

    Args:
        tokens: The tokens, at the start of the value.
        line: The line to which the value is added.
        key: The name of the attribute.
        opening: The offset of the parenthesis whose partner ends the value, or None if the value ends at the first
            token that cannot continue it.

    Raises:
        HloSyntaxError: There is no value, or a bracket is not closed.
    """
    stack = [] if opening is None else [("(", opening)]
    before = first = ""
    while True:
        kind, value = tokens.kind, tokens.value
        mark = value if kind == "mark" else ""
        if not stack and before and not _continues(tokens, before, first):
            return
        if kind == "end":
            _fail_to_close(tokens, stack)
        if opening is not None and len(stack) == 1 and mark == ")":
            return
        if mark in _PAIRS:
            if not stack or stack[-1][0][-1] != _PAIRS[mark]:
                _fail_to_close(tokens, stack)
            stack.pop()
        apart = tokens.gap and before not in _TIGHT_AFTER and value not in _TIGHT_BEFORE and value != "["
        # The value of a frontend attribute is free text, whose blanks have to stay.
        apart = apart or (tokens.gap and key == "frontend_attributes" and len(stack) > 1)
        # XLA prints a blank between a mesh and the axes that follow it.
        if (apart and stack) or (value == "{" and first in _MESHES and not stack):
            line.put(" ", tokens.start)
        if mark and mark in "([{":
            callees = mark == "(" and (before.isalnum() or before in {")", "*", "#"})
            stack.append(("call(" if callees else mark, tokens.start))
        line.put(_write(tokens, key, before, stack), tokens.start)
        first = first or value
        before = value if kind != "string" else "string"
        tokens.advance()


def _fail_to_close(tokens: Tokens, stack: list[tuple[str, int]]) -> NoReturn:
    """Raise an `HloSyntaxError` at the current token, which does not close the last open bracket (or none is open)."""
    if not stack:
        tokens.fail("a value")
    opening, offset = stack[-1]
    line, column = locate(tokens.text, offset)
    tokens.fail(f"{_CLOSING[opening[-1]]!r} for the {opening[-1]!r} of line {line}, column {column}")


def _write(tokens: Tokens, key: str, before: str, stack: list[tuple[str, int]]) -> str:
    """Return the text of the current token as XLA prints it inside the value of attribute `key`."""
    if tokens.kind == "string":
        # The names of a mesh's axes keep their single quotes, but other strings get double quotes.
        return write_string(tokens.value) if before == "=" or not _SIMPLE.fullmatch(tokens.value) else tokens.value
    if tokens.kind == "name":
        return f"%{tokens.value}"
    if tokens.at(",") and key in _SPACED:
        inside = stack[-1][0] if stack else ""
        listed = inside == "{" and before.isdecimal()
        return "," if listed or inside == "call(" or (inside == "[" and tokens.peek() != "{") else ", "
    return ": " if tokens.at(":") and before == "}" else tokens.value


def _continues(tokens: Tokens, before: str, first: str) -> bool:
    """Return whether the current token continues the value that began with `first` and so far ends in `before`."""
    value = tokens.value
    if tokens.kind in {"string", "name", "end"}:
        return False
    if first in _MESHES:
        listed = value == "," and before == "]" and tokens.peek() == "device_ids"
        return listed or before == "," or value in {"[", "(", "{", "="}
    if value == "{":
        return before == "]"
    return value in {"[", "(", "<="} or before == "<=" or (value == "T" and before == "]" and tokens.peek() == "(")
