"""A rewriter of a computation's instructions, from any accepted notation into lines in the form of XLA's printer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xla_inspect.hlo.inference import infer_shape
from xla_inspect.hlo.lines import CALLING, match_printed
from xla_inspect.hlo.opcodes import resolve
from xla_inspect.hlo.shape import MAX_DEPTH
from xla_inspect.hlo.source_map import Line
from xla_inspect.hlo.values import is_shape, take_balanced, take_literal, take_shape, write_json, write_string

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect.hlo.tokens import Tokens

_LISTS = frozenset({"branch_computations", "called_computations"})
_LONGEST = 1 << 20


@dataclass
class Body:
    """A computation under construction, as the lines of its instructions.

    Attributes:
        name: The name of the computation.
        source: The offset of the computation in the source text.
        items: Its instructions as lines, each with a flag that is true if the source marks it as the root.
        shapes: The shape of each instruction as text, by name.
        parameters: The shapes of the parameters, by number.
        root: The name of the instruction marked as the root.
        last: The name of the last instruction.
        alone: Whether the text is a single instruction, whose operands become parameters.
        thread: The attributes after the closing brace, as text.
    """

    name: str
    source: int
    items: list[tuple[bool, Line]] = field(default_factory=list)
    shapes: dict[str, str] = field(default_factory=dict)
    parameters: dict[int, str] = field(default_factory=dict)
    root: str = ""
    last: str = ""
    alone: bool = False
    thread: str = ""

    def add(self, name: str, shape: str, line: Line, *, is_root: bool) -> None:
        """Add the line of an instruction with its name and shape."""
        self.items.append((is_root, line))
        self.shapes[name] = shape
        self.last = name
        if is_root:
            self.root = name

    @property
    def result(self) -> str:
        """The shape of the root, which is the last instruction unless another one is marked."""
        return self.shapes[self.root or self.last]


class Bodies:
    """A rewriter of computations from tokens; it stores them in order, those inside an attribute before its owner."""

    def __init__(self, tokens: Tokens) -> None:
        """Start at the current token of a text."""
        self.tokens = tokens
        self.done: list[Body] = []
        self.by_name: dict[str, Body] = {}
        self._names: set[str] = set()
        self._depth = 0

    def take_body(self, name: str, source: int) -> Body:
        """Consume `{`, instructions and `}`, store the computation under its name, and return it.

        Raises:
            HloSyntaxError: The tokens have another form.
        """
        tokens, body = self.tokens, Body(name, source)
        self._deepen()
        tokens.expect("{", "'{' and the instructions of a computation")
        while not tokens.at("}"):
            if tokens.kind == "end":
                tokens.fail(f"'}}' at the end of computation {name!r}")
            self.take_instruction(body)
        if not body.items:
            tokens.fail("an instruction such as %name = f32[] add(%a, %b)")
        tokens.advance()
        self._depth -= 1
        self.done.append(body)
        self.by_name[name] = body
        return body

    def take_instruction(self, body: Body) -> None:
        """Consume `name = shape opcode(...), ...`, perhaps after `ROOT`, and add the instruction to a computation.

        Raises:
            HloSyntaxError: The tokens have another form.
        """
        tokens = self.tokens
        if self._take_printed(body):
            return
        is_root = tokens.take("ROOT")
        name, source = tokens.expect_name("an instruction such as %name = f32[] add(%a, %b)")
        line = Line()
        line.put_name(name, source, tokens.text)
        line.put(" = ", tokens.expect("=", "'=' after the name of an instruction"))
        self._take_right_side(body, name, line, is_root=is_root, nested=False)

    def take_unnamed(self, body: Body) -> None:
        """Consume an instruction without a name, and add it to `body` as the root, named like the computation.

        Raises:
            HloSyntaxError: The tokens have another form.
        """
        line = Line()
        line.put(f"%{body.name} = ", self.tokens.start)
        self._take_right_side(body, body.name, line, is_root=True, nested=False)

    def _take_printed(self, body: Body) -> bool:
        """Consume and add the next instruction if it is in the printed form, as most are; return whether it was."""
        tokens = self.tokens
        match = match_printed(tokens.text, tokens.start)
        if match is None:
            return False
        line = Line()
        name, shape, opcode, literal = match.group(2, 3, 4, 5)
        line.put("%", match.start(2))
        line.put(tokens.text[match.start(2) : match.end(7)], match.start(2))
        tokens.move_to(match.end(7))
        self._names.add(name)
        body.add(name, shape, line, is_root=match[1] is not None)
        if opcode == "parameter" and literal.isdecimal():
            body.parameters[int(literal[:9])] = shape
        return True

    def _take_right_side(self, body: Body, name: str, line: Line, *, is_root: bool, nested: bool) -> str:
        """Consume `shape opcode(...), attributes`, add the instruction and return its name, invented if not given."""
        tokens = self.tokens
        self._deepen()
        result_shape = Line()
        if is_shape(tokens):
            take_shape(tokens, result_shape)
        opcode, source = tokens.expect_name("a shape or an opcode")
        try:
            resolve(opcode)
        except ValueError as problem:
            tokens.refuse(str(problem), source)
        arguments, operands = Line(), []
        if opcode in {"constant", "parameter"}:
            take_literal(tokens, arguments)
        else:
            operands = self._take_operands(body, arguments)
        rest = Line()
        attributes = {} if nested else self.take_attributes(rest, f"{body.name}.{name}")
        shape = str(result_shape)
        if not shape:
            shape = self._infer(body, opcode, operands, attributes, source)
            result_shape.put(shape, source)
        if not name:
            name = self._invent(f"{opcode}.anon")
            line.put(f"%{name} = ", source)
        self._names.add(name)
        for piece in (result_shape, (" ", opcode, "("), arguments, (")",), rest):
            if isinstance(piece, Line):
                line.add(piece)
            else:
                line.put("".join(piece), source)
        body.add(name, shape, line, is_root=is_root)
        if opcode == "parameter" and str(arguments).isdecimal():
            body.parameters[int(str(arguments)[:9])] = shape
        self._depth -= 1
        return name

    def _infer(self, body: Body, opcode: str, operands: list[str], attributes: Mapping[str, str], source: int) -> str:
        shapes = []
        for operand in operands:
            name, *indices = operand.split("#")
            if name not in body.shapes:
                self.tokens.refuse(f"operand {name!r} is not defined in computation {body.name!r}", source)
            shapes.append((body.shapes[name], tuple(map(int, indices))))
        try:
            shape = infer_shape(opcode, shapes, attributes, lambda callee: self.by_name[callee].result)
        except ValueError as problem:
            self.tokens.refuse(f"expected a shape before {opcode!r}: {problem}", source)
        if len(shape) > _LONGEST:
            self.tokens.refuse("the shape is longer than any real one", source)
        return shape

    def _take_operands(self, body: Body, line: Line) -> list[str]:
        """Consume `(operands)`, add them to a line, and return them: names such as `a`, or `loop#1` for an element."""
        tokens = self.tokens
        tokens.expect("(", "'(' and the operands")
        operands: list[str] = []
        while not tokens.at(")"):
            if operands:
                line.put(", ", tokens.expect(",", "',' or ')' after an operand"))
            operands.append(self._take_operand(body, line))
        tokens.advance()
        return operands

    def _take_operand(self, body: Body, line: Line) -> str:
        tokens, source, shape = self.tokens, self.tokens.start, Line()
        if is_shape(tokens):
            take_shape(tokens, shape)
        if tokens.kind == "word" and tokens.peek() == "(":  # the operand is an unnamed instruction
            tokens.move_to(source)
            name = self._take_right_side(body, "", Line(), is_root=False, nested=True)
        elif body.alone and shape.length and (tokens.at(",") or tokens.at(")")):
            name = self._add_parameter(body, f"_{len(body.items)}", shape, source)
        else:
            name, source = tokens.expect_name("an operand")
            if body.alone and shape.length and name not in body.shapes:
                self._add_parameter(body, name, shape, source)
        while tokens.take("#"):
            if not tokens.value.isdecimal():
                tokens.fail("the number of an element")
            name += f"#{tokens.value}"
            tokens.advance()
        line.put_name(name, source, tokens.text)
        return name

    def _add_parameter(self, body: Body, name: str, shape: Line, source: int) -> str:
        """Add a parameter for an operand of a single instruction, and return its name."""
        line, number = Line(), len(body.items)
        line.put(f"%{name} = ", source)
        line.add(shape)
        line.put(f" parameter({number})", source)
        body.add(name, str(shape), line, is_root=False)
        body.parameters[number] = str(shape)
        return name

    def take_attributes(self, line: Line, owner: str) -> dict[str, str]:
        """Consume `, key=value, ...`, add the attributes to a line and return their values by key.

        Raises:
            HloSyntaxError: No attribute follows a comma.
        """
        tokens = self.tokens
        attributes: dict[str, str] = {}
        while tokens.at(","):
            comma = tokens.start
            tokens.advance()
            if tokens.kind != "word" or tokens.peek() != "=":
                tokens.fail("an attribute such as dimensions={0}")
            key, source = tokens.value, tokens.start
            tokens.advance()
            tokens.expect("=")
            line.put(", ", comma)
            line.put(f"{key}=", source)
            value = Line()
            self._take_value(key, value, owner)
            line.add(value)
            attributes[key] = str(value)
        return attributes

    def _take_value(self, key: str, line: Line, owner: str) -> None:
        tokens = self.tokens
        braced = tokens.at("{")
        if tokens.kind == "string":
            line.put(write_string(tokens.value), tokens.start)
            tokens.advance()
        elif key in CALLING and key in _LISTS and braced:
            self._take_list(line, lambda number: self._take_callee(line, f"{owner}.{key}.{number}"))
        elif key in CALLING:
            self._take_callee(line, f"{owner}.{key}")
        elif key == "control-predecessors" and braced:
            self._take_list(
                line, lambda _: line.put_name(*tokens.expect_name("the name of an instruction"), tokens.text)
            )
        elif key == "backend_config" and braced:
            text, source = tokens.take_json()
            line.put(write_json(text), source)
        elif key in {"frontend_attributes", "metadata"} and braced:
            self._take_fields(line, "," if key == "frontend_attributes" else " ")
        elif key == "literal" and is_shape(tokens) and not tokens.at("("):
            take_shape(tokens, line)
            line.put(" ", tokens.start)
            take_balanced(tokens, line, key)
        else:
            take_balanced(tokens, line, key)

    def _take_callee(self, line: Line, name: str) -> None:
        """Consume a computation's name, or a whole unnamed computation, which gets `name`; add the name to a line."""
        if self.tokens.at("{"):
            source = self.tokens.start
            name = self._invent(name, self.by_name)
            self.take_body(name, source)
        else:
            name, source = self.tokens.expect_name("the name of a computation")
        line.put_name(name, source, self.tokens.text)

    def _take_list(self, line: Line, take: Callable[[int], None]) -> None:
        tokens = self.tokens
        line.put("{", tokens.expect("{"))
        number = 0
        while not tokens.at("}"):
            if number:
                line.put(", ", tokens.expect(",", "',' or '}'"))
            take(number)
            number += 1
        line.put("}", tokens.start)
        tokens.advance()

    def _take_fields(self, line: Line, separator: str) -> None:
        """Consume `{key=value ...}`, with or without commas, and add it to a line with `separator` between fields."""
        tokens = self.tokens
        line.put("{", tokens.expect("{"))
        first = True
        while not tokens.at("}"):
            if not first:
                tokens.take(",")
                line.put(separator, tokens.start)
            if tokens.kind != "word":
                tokens.fail("a field such as op_name=\"add\", or '}'")
            line.put(f"{tokens.value}=", tokens.start)
            tokens.advance()
            tokens.expect("=")
            if tokens.at("{"):
                text, source = tokens.take_json()
                line.put(write_json(text), source)
            elif tokens.kind in {"string", "number", "word"}:
                line.put(write_string(tokens.value), tokens.start)
                tokens.advance()
            else:
                tokens.fail("the value of a field")
            first = False
        line.put("}", tokens.start)
        tokens.advance()

    def _invent(self, name: str, used_names: Mapping[str, object] | None = None) -> str:
        """Return a name that is not used yet: `name` itself, or else `name` with a number, such as `add.1`."""
        names = self._names if used_names is None else used_names
        number, free = 0, name
        while free in names:
            number += 1
            free = f"{name}.{number}"
        return free

    def _deepen(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self.tokens.refuse(f"instructions nest deeper than {MAX_DEPTH} levels")
