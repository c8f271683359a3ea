"""A rewriter of handwritten HLO text into the form that XLA prints and `parser` reads.

The grammar is that of XLA's own parser (xla/hlo/parser/hlo_parser.cc). It allows comments and line breaks anywhere,
names with or without `%`, a missing header, `ENTRY` or `ROOT`, a single instruction, shapes that are omitted if the
operands determine them, instructions as operands, and computations as attributes.
"""

from __future__ import annotations

from xla_inspect.hlo.bodies import Bodies, Body
from xla_inspect.hlo.frame_tables import TABLES
from xla_inspect.hlo.shape import ShapeProblemError, read_shape
from xla_inspect.hlo.source_map import Line
from xla_inspect.hlo.tokens import Tokens, locate
from xla_inspect.hlo.values import is_shape, take_shape, write_string

_COMPUTATION = "a computation such as %name (x: f32[8]) -> f32[8] {"
_LOCATION = ("file_name_id", "function_name_id", "line", "end_line", "column", "end_column")
_FRAME = ("file_location_id", "parent_frame_id")


class NormalForm:
    """A text in the form of XLA's printer, with the position of each piece in the original text.

    Attributes:
        source: The original text.
        text: The text in the printer's form.
    """

    def __init__(self, source: str) -> None:
        """Rewrite a text.

        Raises:
            HloSyntaxError: The text is not HLO; the error has the expected token and the position.
        """
        self.source = source
        self._lines = _Rewriter(source).rewrite()
        self.text = "\n".join(map(str, self._lines))

    def locate(self, line: int, column: int) -> tuple[int, int]:
        """Return the line and column in the source for a line and column in the text, all counted from 1."""
        # An empty line has no piece to locate, and an error at the end may be beyond the last line.
        if line > len(self._lines) or not self._lines[line - 1].length:
            return locate(self.source, len(self.source))
        return locate(self.source, min(self._lines[line - 1].locate(column - 1), len(self.source)))


class _Rewriter:
    """A rewriter of one text into lines of the printed form, used once."""

    def __init__(self, source: str) -> None:
        self._tokens = Tokens(source)
        self._bodies = Bodies(self._tokens)
        self._lines: list[Line] = []

    def rewrite(self) -> list[Line]:
        """Consume the whole text, and return its lines in the printed form."""
        tokens = self._tokens
        if tokens.kind == "end":
            tokens.fail("'HloModule'")
        header, name = Line(), ""
        whole = tokens.at("HloModule")
        entry = None
        if whole:
            header.put("HloModule ", tokens.start)
            tokens.advance()
            header.put(*tokens.expect_name("the name of the module"))
            self._bodies.take_attributes(header, "")
        # Without a header, only `ENTRY` or a name before a brace begins a computation.
        elif not (tokens.at("ENTRY") or tokens.peek() == "{"):
            return self._take_alone()
        self._lines += [header, Line()]
        if tokens.at(TABLES[0]):
            self._take_tables()
        # At least one computation is required, so a text that ends after the header fails with the expected token.
        while tokens.kind != "end" or not self._bodies.done:
            body, is_entry = self._take_computation()
            # XLA allows one entry computation; without a mark, the last computation is the entry.
            if is_entry and entry is not None:
                tokens.refuse(f"expected one ENTRY computation, found a second, {body.name!r}", body.source)
            entry = body if is_entry else entry
        entry = entry or self._bodies.done[-1]
        # Without a header, the module is named for its entry computation, which is known only now.
        if not whole:
            name = f"module_{entry.name}"
            header.put(f"HloModule {name}", 0)
        return self._finish(entry)

    def _finish(self, entry: Body) -> list[Line]:
        """Add the lines of all computations, and return all lines."""
        for body in self._bodies.done:
            self._add(f"{'ENTRY ' if body is entry else ''}%{body.name} {{", body.source)
            for index, (is_root, instruction) in enumerate(body.items):
                line = Line()
                # Without a `ROOT` mark, XLA takes the last instruction as the root.
                last = not body.root and index == len(body.items) - 1
                line.put("  ROOT " if is_root or last else "  ", instruction.locate(0))
                line.add(instruction)
                self._lines.append(line)
            self._add(f"}}{body.thread}", body.source)
            self._add("", body.source)
        return self._lines

    def _add(self, text: str, source: int) -> None:
        line = Line()
        line.put(text, source)
        self._lines.append(line)

    def _take_alone(self) -> list[Line]:
        """Consume a text that is a single instruction, and return the lines of a module with operands as parameters."""
        tokens, body = self._tokens, Body("_", 0, alone=True)
        if is_shape(tokens):
            self._bodies.take_unnamed(body)
        elif tokens.at("ROOT") or tokens.peek() == "=":
            self._bodies.take_instruction(body)
        else:
            tokens.fail("'HloModule' and a name, 'ENTRY', a computation such as name { or one instruction")
        if tokens.kind != "end":
            tokens.fail("the end, since one instruction came without a module; or 'HloModule' before it")
        self._bodies.done.append(body)
        self._add(f"HloModule _, is_scheduled=true{_write_layouts(body)}", 0)
        self._add("", 0)
        return self._finish(body)

    def _take_computation(self) -> tuple[Body, bool]:
        """Consume `ENTRY name (parameters) -> shape {...}, ...`; return the computation and whether it has `ENTRY`."""
        tokens = self._tokens
        is_entry = tokens.take("ENTRY")
        name, source = tokens.expect_name(_COMPUTATION)
        if not (tokens.at("(") or tokens.at("{")):
            tokens.fail(_COMPUTATION, source)
        if name in self._bodies.by_name:
            tokens.refuse(f"computation {name!r} is defined twice", source)
        if tokens.at("("):
            self._take_signature()
        body = self._bodies.take_body(name, source)
        rest = Line()
        self._bodies.take_attributes(rest, name)
        body.thread = str(rest)
        return body, is_entry

    def _take_signature(self) -> None:
        # A signature repeats the shapes of the parameters and the root, so only its form is checked.
        tokens, unused = self._tokens, Line()
        tokens.expect("(")
        while not tokens.at(")"):
            tokens.expect_name("the name of a parameter, or ')'")
            tokens.take(":")
            take_shape(tokens, unused)
            if not tokens.take(",") and not tokens.at(")"):
                tokens.fail("',' or ')' after a parameter")
        tokens.advance()
        tokens.expect("->", "'->' and the shape of the result")
        take_shape(tokens, unused)

    def _take_tables(self) -> None:
        """Consume the tables of stack frames and add their lines; rows are renumbered from 1, in the text's order."""
        tokens = self._tokens
        for table, fields in zip(TABLES, ((), (), _LOCATION, _FRAME), strict=True):
            self._add(table, tokens.expect(table))
            number = 0
            while tokens.kind == "number":
                number += 1
                source = tokens.start
                tokens.advance()
                if fields:
                    row = self._take_row(fields)
                elif tokens.kind != "string":
                    tokens.fail("a name in quotes")
                else:
                    row = write_string(tokens.value)
                    tokens.advance()
                self._add(f"{number} {row}", source)
            self._add("", tokens.start)

    def _take_row(self, fields: tuple[str, ...]) -> str:
        """Consume `{field=number ...}` in any order, and return it in the order of XLA's printer."""
        tokens = self._tokens
        values: dict[str, str] = {}
        tokens.expect("{")
        while not tokens.take("}"):
            tokens.take(",")
            if tokens.value not in fields:
                tokens.fail(f"one of {', '.join(fields)}")
            key = tokens.value
            tokens.advance()
            tokens.expect("=")
            if tokens.kind != "number":
                tokens.fail("a number")
            values[key] = tokens.value
            tokens.advance()
        return f"{{{' '.join(f'{field}={values[field]}' for field in fields if field in values)}}}"


def _write_layouts(body: Body) -> str:
    """Return `, entry_computation_layout={...}` for a single instruction, or an empty text if a shape is invalid."""
    try:
        parameters = ", ".join(read_shape(body.parameters[number]).plain for number in sorted(body.parameters))
        return f", entry_computation_layout={{({parameters})->{read_shape(body.result).plain}}}"
    except ShapeProblemError:
        return ""  # The parser of the line reports the error with its position.
