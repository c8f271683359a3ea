"""The `get-tuple-element` instructions that XLA omits from its text, where an operand `%loop#1` selects an element.

XLA dumps modules in this form unless `xla_dump_compact_gte` is off. Such an element has no name, so it gets the name
that XLA's own parser uses: `%loop_1`.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from xla_inspect.hlo.attributes import NAME, STRING
from xla_inspect.hlo.shape import ShapeProblemError, shape_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.hlo.shape import Shape

# Quoted text may look like an element, so it is skipped, up to the end of the line if the quote is not closed.
_PICKED = re.compile(rf"{STRING}?|(?<![\w.\-#%])(%?)({NAME})((?:#[0-9]{{1,9}})++)", re.ASCII)
_DEFINED = re.compile(rf"^[ ]++(?:ROOT )?+%?({NAME}) = ", re.ASCII | re.MULTILINE)


def spell_out(text: str) -> str:
    """Return a module's text with a `get-tuple-element` line for each selected element, before its first use.

    A selection from an unknown name or from a value that is not a tuple stays unchanged; the parser then rejects it at
    its position.
    """
    if "#" not in text:
        return text
    # Names are local to a computation, so each computation is rewritten separately.
    return "\n}".join("\n".join(spell_out_lines(part.split("\n"))) for part in text.split("\n}"))


def spell_out_lines(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines of one computation with a `get-tuple-element` for each selected element."""
    picking = [line for line in lines if "#" in line]
    # All of the `#` may be inside strings, which select no element.
    if not any(match[3] for line in picking for match in _PICKED.finditer(line)):
        return lines
    return [*_Body(lines).write()]


class _Body:
    """A rewriter of one computation's lines that adds the `get-tuple-element` of each element that they select."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._text = "\n".join(lines)
        # The offset of each instruction's shape in the text.
        self._shapes = {match[1]: match.end() for match in _DEFINED.finditer(self._text)}
        self._known: dict[tuple[str, int], str] = {}
        self._elements: dict[str, Sequence[Shape]] = {}

    def write(self) -> Iterator[str]:
        """Yield the lines, with a new line for each element before the first line that uses it."""
        for line in self._lines:
            if "#" not in line:
                yield line
                continue
            additions: list[str] = []
            rewrite = _PICKED.sub(partial(self._name, additions), line)
            yield from additions
            yield rewrite

    def _name(self, additions: list[str], match: re.Match[str]) -> str:
        """Return the name of a matched element, or the match unchanged; append lines for newly selected elements."""
        sign, name, numbers = match.groups()
        if not numbers:
            return match[0]
        for number in map(int, numbers[1:].split("#")):
            element = self._known.get((name, number))
            if element is None:
                if number >= len(elements := self._list_elements(name)):
                    return match[0]
                shape = elements[number]
                element = self._known[name, number] = self._invent(f"{name}_{number}")
                self._elements[element] = shape.elements
                additions.append(f"  {sign}{element} = {shape} get-tuple-element({sign}{name}), index={number}")
            name = element
        return f"{sign}{name}"

    def _list_elements(self, name: str) -> Sequence[Shape]:
        """Return the shapes of a tuple's elements; empty if the name is unknown or not a tuple."""
        if name not in self._elements:
            # Store the empty result first, so that a name without a tuple shape is looked up only once.
            self._elements[name] = ()
            with suppress(KeyError, ShapeProblemError):
                self._elements[name] = shape_at(self._text, self._shapes[name])[0].elements
        return self._elements[name]

    def _invent(self, name: str) -> str:
        count, free = 0, name
        while free in self._shapes or free in self._elements:
            count += 1
            free = f"{name}.{count}"
        return free
