"""The lexer of HLO text, with the tokens of XLA's own lexer (xla/hlo/parser/hlo_lexer.cc)."""

from __future__ import annotations

import re
from typing import NoReturn

from xla_inspect.errors import HloSyntaxError

_SKIP = r"(?:[ \t\r\n]++|//[^\r\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/)*+"
_QUOTED = r"\"(?:[^\"\\]++|\\[^\n])*+\"|'(?:[^'\\]++|\\[^\n])*+'"
_SKIPPED = re.compile(_SKIP)
_TOKEN = re.compile(
    rf"{_SKIP}(?:(?P<string>{_QUOTED})|%(?P<name>[A-Za-z_][\w.\-]*+)"
    r"|(?P<number>[0-9bf?]{2,}_[0-9io?]{2,}->[0-9bf?]{2,}"  # the labels of a convolution's dimensions
    r"|-?+(?:(?<=-)inf|(?<=-)nan(?:\(0x[0-9a-fA-F]++\))?+|\.?[0-9](?:[\w.]++|(?<=[eEx_])[-+](?=[0-9]))*+))"
    r"|(?P<word>[A-Za-z_][\w.\-]*+)|(?P<mark>->|<=|\.\.\.|[=,:*#+~\[\]{}()?])|(?P<end>\Z))",
    re.ASCII,
)
_JSON = re.compile(r'[^"{}]++|"(?:[^"\\]++|\\[^\n])*+"|[{}]')


def locate(text: str, offset: int) -> tuple[int, int]:
    """Return the line and the column of an offset, both counted from 1."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


class Tokens:
    """A cursor over the tokens of a text, on one token at a time; comments and white space are skipped.

    Attributes:
        text: The whole text.
        kind: `string`, `name` (written with `%`), `word`, `number`, `mark` or `end`.
        value: The token as written, but a name without its `%`.
        start: The offset of the token; end: the offset after it.
        gap: Whether white space or a comment precedes the token.
    """

    __slots__ = ("end", "gap", "kind", "start", "text", "value")

    def __init__(self, text: str) -> None:
        """Move to the first token.

        Raises:
            HloSyntaxError: The text does not begin with a token.
        """
        self.text = text
        self.move_to(0)

    def move_to(self, offset: int) -> None:
        """Move to the first token at or after an offset."""
        self.end = offset
        self.advance()

    def advance(self) -> None:
        """Move to the next token.

        Raises:
            HloSyntaxError: The next characters are not a token.
        """
        match = _TOKEN.match(self.text, self.end)
        if match is None:
            self._fail_to_lex()
        kind = match.lastgroup or ""
        self.kind, self.value = kind, match[kind]
        # The group of a name excludes its `%`, but the token begins there.
        self.start = match.start(kind) - (kind == "name")
        self.gap = self.start > self.end
        self.end = match.end()

    def peek(self) -> str:
        """Return the token after the current one, a name without its `%`; an empty string at the end or if invalid."""
        match = _TOKEN.match(self.text, self.end)
        return match[match.lastgroup or ""] if match else ""

    def at(self, value: str) -> bool:
        """Return whether the current token is a mark or a word with this spelling."""
        return self.value == value and self.kind in {"mark", "word"}

    def take(self, value: str) -> bool:
        """Consume a mark or a word if it is the current token, and return whether it was."""
        is_match = self.at(value)
        if is_match:
            self.advance()
        return is_match

    def expect(self, value: str, what: str = "") -> int:
        """Consume a required mark or word and return its offset; `what` describes it in the error message.

        Raises:
            HloSyntaxError: The current token is a different one.
        """
        if not self.at(value):
            self.fail(what or repr(value))
        start = self.start
        self.advance()
        return start

    def expect_name(self, what: str) -> tuple[str, int]:
        """Consume a name, with or without `%` and a following `:`, and return it without them, and its offset.

        Raises:
            HloSyntaxError: The current token is not a name.
        """
        if self.kind not in {"name", "word"}:
            self.fail(what)
        token = self.value, self.start
        # XLA's lexer reads a word and the colon directly after it as one name.
        if self.kind == "word" and self.text.startswith(":", self.end):
            self.end += 1
        self.advance()
        return token

    def take_json(self) -> tuple[str, int]:
        """Consume a JSON object by matching braces outside strings; return its text and its offset.

        Raises:
            HloSyntaxError: The braces are not closed.
        """
        start, position, depth = self.start, self.start, 0
        while True:
            match = _JSON.match(self.text, position)
            if match is None:
                self.fail("'}' that closes this brace")
            position = match.end()
            depth += {"{": 1, "}": -1}.get(match[0], 0)
            if depth == 0:
                self.move_to(position)
                return self.text[start:position], start

    def fail(self, expected: str, offset: int | None = None) -> NoReturn:
        """Raise an `HloSyntaxError` "expected ..., found ..." at the current token or at an offset."""
        start = self.start if offset is None else offset
        text = repr(self.text[start : start + 40].partition("\n")[0].rstrip()) if start < len(self.text) else "the end"
        self.refuse(f"expected {expected}, found {text}", start)

    def refuse(self, message: str, offset: int | None = None) -> NoReturn:
        """Raise an `HloSyntaxError` with a message, at the current token or at an offset."""
        raise HloSyntaxError(message, *locate(self.text, self.start if offset is None else offset)) from None

    def _fail_to_lex(self) -> NoReturn:
        skipped = _SKIPPED.match(self.text, self.end)
        offset = skipped.end() if skipped else self.end
        here = self.text[offset : offset + 2]
        if here == "/*":
            self.refuse("expected '*/' after this, found the end", offset)
        if here[0] in "\"'":
            self.refuse(f"expected {here[0]} that closes this string, found the end", offset)
        self.refuse(f"expected HLO, found {here[0]!r}", offset)
