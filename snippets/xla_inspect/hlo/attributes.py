"""Regular expressions and parsers for the attributes after an instruction's operands: `, key=value, ...`."""

from __future__ import annotations

import re

CONFIGURATION = ("backend_config", "frontend_attributes")
"""The names of attributes that affect how an instruction is compiled; shown only on request."""

INCIDENTAL = frozenset({"metadata", *CONFIGURATION, "sharding"})
"""The names of attributes about the origin or the compilation of an instruction, which do not affect its result."""

CLUTTER = INCIDENTAL | {"calls", "cross_program_prefetch_index"}
"""The names of attributes to leave out of a listing with one line for each launch, as they would hide the shapes."""

NAME = r"[A-Za-z_][A-Za-z0-9_.\-]*+"
"""The regular expression of a name; its repetition is possessive, so a mismatch takes time linear in the length."""

STRING = r'"(?:[^"\\]++|\\.)*+"'
_KEY = r"[A-Za-z_][A-Za-z0-9_.\-]*+"
# More deeply nested values take the slower path in `lines.py`.
_DEPTH = 10


def nest(opening: str, closing: str, depth: int = _DEPTH) -> str:
    """Return a regular expression for a bracketed text with nested brackets; those inside strings do not count.

    Args:
        opening: The opening bracket, escaped for a regular expression.
        closing: The closing bracket, escaped for a regular expression.
        depth: The largest depth of brackets that it matches, the outer pair included.
    """
    plain = rf'[^{opening}{closing}"]++|{STRING}'
    pattern = rf"{opening}(?:{plain})*+{closing}"
    for _ in range(depth - 1):
        pattern = rf"{opening}(?:{plain}|{pattern})*+{closing}"
    return pattern


BRACED, BRACKETED, PARENTHESISED = nest(r"\{", r"\}"), nest(r"\[", r"\]"), nest(r"\(", r"\)")
_FIELD = rf"{_KEY}=(?:{STRING}|\{{[^{{}}\"]*+\}}|[^\s{{}}\",]++)"
METADATA = rf"\{{(?:{_FIELD}(?: {_FIELD})*+)?+\}}"
# Inside a value, a blank only precedes a bracket, as in `mesh['a'=4] {'a'}`.
_VALUE = rf"(?:[^,{{}}()\[\]\"\s]++| (?=[{{\[])|{BRACED}|{BRACKETED}|{PARENTHESISED}|{STRING})++"
# Apart from a blank before a bracket, only a literal with its shape contains a blank.
_LITERAL = rf"(?:(?<=literal=)[a-z][a-z0-9]*+{BRACKETED}(?:{BRACED})?+ [\w.\-]++)"
# Metadata has a fixed form, so malformed metadata is rejected and does not match as an arbitrary value.
ATTRIBUTE = rf"(?:metadata={METADATA}|(?!metadata=){_KEY}=(?:{_LITERAL}|{_VALUE}))"

_ATTRIBUTE = re.compile(rf", ?({_KEY})=({_LITERAL}|{_VALUE})", re.ASCII)
_METADATA = re.compile(rf"({_KEY})=({STRING}|\{{[^{{}}\"]*+\}}|[^\s{{}}\",]++)", re.ASCII)
_ESCAPE = re.compile(r"\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|.)", re.DOTALL)
_PLAIN_ESCAPES = {"n": 10, "r": 13, "t": 9}
_PLAIN = re.compile(r"[ !#-&(-\[\]-~]*+")
_ESCAPES = {ord("\n"): r"\n", ord("\r"): r"\r", ord("\t"): r"\t", ord('"'): r"\"", ord("'"): r"\'", ord("\\"): r"\\"}


def split_attributes(text: str) -> dict[str, str]:
    """Return the values of a text `, key=value, ...` as written, by key and in order, without checking the text."""
    return dict(_ATTRIBUTE.findall(text))


def split_metadata(text: str) -> dict[str, str]:
    """Return the fields of `{op_name="add" stack_frame_id=2}` by name, in order, strings unquoted and unescaped."""
    return {key: unquote(value) for key, value in _METADATA.findall(text)}


def unquote(text: str) -> str:
    """Return a text without its double quotes and with `absl::CEscape` decoded; a text without quotes is unchanged."""
    if not text.startswith('"'):
        return text
    body = text[1:-1]
    # Most strings have no escapes, and these need no decoding piece by piece.
    if "\\" not in body:
        return body
    pieces: list[bytes] = []
    # The escapes are bytes of UTF-8, so the pieces are joined as bytes and decoded at the end.
    last = 0
    for match in _ESCAPE.finditer(body):
        pieces.append(body[last : match.start()].encode())
        pieces.append(_unescape(match.group(1)))
        last = match.end()
    pieces.append(body[last:].encode())
    return b"".join(pieces).decode(errors="replace")


def escape(text: str) -> str:
    """Return a text escaped for a quoted string, without the quotes; bytes beyond ASCII are octal (`absl::CEscape`)."""
    if _PLAIN.fullmatch(text):
        return text
    # Bytes that are not UTF-8 were read as surrogates, which this encoding turns back into the original bytes.
    return "".join(
        _ESCAPES.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}")  # noqa: PLR2004 - printable ASCII
        for byte in text.encode("utf-8", "surrogateescape")
    )


def quote(text: str) -> str:
    """Return a text in double quotes, escaped as by `escape`."""
    return f'"{escape(text)}"'


def _unescape(code: str) -> bytes:
    if code[0] in "01234567":
        # Three octal digits may exceed a byte, so only their low eight bits count.
        return bytes([int(code, 8) & 255])
    if code[0] == "x" and len(code) > 1:
        return bytes([int(code[1:], 16)])
    return bytes([_PLAIN_ESCAPES[code]]) if code in _PLAIN_ESCAPES else code.encode()
