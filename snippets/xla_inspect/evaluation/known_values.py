"""The values of operations that ran, so that an operation with the same operands does not run again."""

from __future__ import annotations

import hashlib
import re
from itertools import chain, count
from typing import TYPE_CHECKING, Any, NamedTuple

from xla_inspect.hlo import parse_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np

type Shards = Sequence[np.ndarray[Any, Any]]
"""The arrays of one value by device."""

MOST_BYTES = 1 << 28
"""The size of all values above which they are forgotten, and of a module's values above which it runs as a whole."""

_START = re.compile(r"(ENTRY )?%(\S+) \{")
_LINE = re.compile(r"  (ROOT )?%(\S+) = (.*?) ([a-z][\w-]*)\((.*)")
_NAME = re.compile(r"%([\w.-]+)")
_ARRAY = re.compile(r"\w+\[[\d,]*\]")
# Nested tuples, tokens, arrays with a layout, and random numbers whose state is not in the module.
_WHOLE = re.compile(r"\(.*\(|\btoken\[|\{| rng(?:-get-and-update-state)? ")
# XLA chooses how to compute an operation by its constant operands. The other lines are those of `order_transposes`.
_PART = re.compile(r" constant\(|^  %\S+\.(?:moved|zero|fill|count|zeros|bits|joined) = ")


class _Line(NamedTuple):
    """A line of a plain module, with names without `%`; `rest` begins with a literal or the closing bracket."""

    name: str
    shape: str
    opcode: str
    operands: Sequence[str]
    rest: str
    is_root: bool
    is_part: bool


class _Value(NamedTuple):
    """The arrays of a value, of which a tuple has several, and digests of their bits."""

    arrays: Sequence[Shards]
    digests: Sequence[str]


class KnownValues:
    """The values of the operations that one process ran, by the operation and the bits of its operands."""

    def __init__(self) -> None:
        """Start without values."""
        self._values: dict[str, _Value] = {}
        self._bytes = 0

    def run(
        self,
        text: str,
        settings: object,
        arguments: Sequence[Shards],
        compute: Callable[[str, Sequence[Shards]], Sequence[Shards]],
    ) -> Sequence[Shards]:
        """Run a plain module operation by operation, without those whose values are known, and return its results.

        Args:
            text: The module.
            settings: What the values depend on in addition, such as the passes that may change the module.
            arguments: The arguments.
            compute: The function that runs a module as a whole with arguments.

        Raises:
            ValueError: The module must run as a whole, or as in `compute`.
        """
        if self._bytes > MOST_BYTES:
            self._values, self._bytes = {}, 0
        module = _PlainText(text, inlines="call-inliner" in str(settings))
        lines, root = module.list_lines()
        values: dict[str, _Value] = {}
        outputs = {root, *(name for line in lines.values() if line.opcode == "tuple" for name in line.operands)}
        for name, line in lines.items():
            operands = [values[operand] for operand in line.operands if operand in values]
            if line.opcode == "parameter":
                values[name] = _make_value([arguments[_find_number(line)]])
            elif line.opcode == "tuple":
                values[name] = _join(operands)
            elif line.opcode == "get-tuple-element":
                number = int(line.rest.removeprefix("), index="))
                values[name] = _Value([operands[0].arrays[number]], [operands[0].digests[number]])
            elif not line.is_part or name in outputs:
                operation, names = module.write_operation(line, lines)
                inputs = _join([values[name] for name in names])
                key = _digest(settings, operation, *inputs.digests)
                if key not in self._values:
                    value = self._values[key] = _make_value(compute(operation, inputs.arrays))
                    self._bytes += sum(array.nbytes for shards in value.arrays for array in shards)
                values[name] = self._values[key]
        return values[root].arrays


class _PlainText:
    """A plain module as lines by computation.

    Args:
        text: The module.
        inlines: Whether calls are replaced by the lines of the computation that they call.
    """

    def __init__(self, text: str, *, inlines: bool) -> None:
        self._inlines, self._entry = inlines, ""
        self._bodies: dict[str, list[str]] = {}
        self._functions: dict[str, dict[str, str]] = {}
        for line in text.splitlines():
            if match := _START.fullmatch(line):
                body = self._bodies[match[2]] = []
                self._entry = match[2] if match[1] else self._entry
            elif line.startswith("  "):
                body.append(line)

    def list_lines(self) -> tuple[dict[str, _Line], str]:
        """Return the lines of the entry computation that its root needs, by name, and the name of the root.

        Raises:
            ValueError: A value is no array or flat tuple, or depends on the order of operations, or all are too large.
        """
        lines: dict[str, _Line] = {}
        root = self._inline(self._entry, lines)
        needed = {root}
        for line in reversed(lines.values()):
            needed.update(line.operands if line.name in needed else ())
        lines = {name: line for name, line in lines.items() if name in needed}
        size = sum(parse_shape(line.shape).bytes for line in lines.values())
        if size > MOST_BYTES or any(_WHOLE.search(f"{line.shape} {line.opcode} ") for line in lines.values()):
            message = "the module runs only as a whole"
            raise ValueError(message)
        return lines, root

    def write_operation(self, line: _Line, lines: Mapping[str, _Line]) -> tuple[str, Sequence[str]]:
        """Return a module that computes one line, and the names of the lines whose arrays are its arguments."""
        names: dict[str, str] = {}
        inputs: list[str] = []
        body: list[str] = []
        functions: dict[str, str] = {}
        number = count()

        def add(line: _Line) -> None:
            for operand in dict.fromkeys(line.operands):
                if operand in names:
                    continue
                if lines[operand].is_part:
                    add(lines[operand])
                    continue
                inputs.append(operand)
                shape = lines[operand].shape
                parts = _ARRAY.findall(shape)
                places = [f"p{next(number)}" for _ in parts]
                body.extend(f"  %{p} = {part} parameter({p[1:]})" for p, part in zip(places, parts, strict=True))
                names[operand] = places[0]
                if shape.startswith("("):
                    names[operand] = f"t{len(body)}"
                    body.append(f"  %{names[operand]} = {shape} tuple({', '.join(f'%{place}' for place in places)})")
            names[line.name] = f"v{len(body)}"
            body.append(self._write_line(line, names, functions))

        add(line)
        body[-1] = f"  ROOT {body[-1].strip()}"
        return "\n".join(["HloModule m\n", *functions.values(), "ENTRY %main {", *body, "}\n"]), inputs

    def _write_line(self, line: _Line, names: Mapping[str, str], functions: dict[str, str]) -> str:
        """Return a line with new names as text, and add the text of the functions that it refers to."""

        def rename(match: re.Match[str]) -> str:
            if match[1] not in self._bodies:
                return match[0]
            called = self._write_function(match[1])
            functions.update(called)
            return f"%{next(reversed(called))}"

        operands = ", ".join(f"%{names[name]}" for name in line.operands)
        rest = _NAME.sub(rename, line.rest)
        return f"  %{names[line.name]} = {line.shape} {line.opcode}({operands}{rest}"

    def _write_function(self, computation: str) -> dict[str, str]:
        """Return the text of the functions that a computation refers to and then its own, by new names."""
        if computation not in self._functions:
            functions: dict[str, str] = {}
            names: dict[str, str] = {}
            body: list[str] = []
            for line in self._read(computation):
                names[line.name] = f"v{len(body)}"
                text = self._write_line(line, names, functions)
                body.append(f"  ROOT {text.strip()}" if line.is_root else text)
            # Equal functions of several modules have the same name.
            name = f"f{_digest(*body)}"
            functions[name] = "\n".join([f"%{name} {{", *body, "}\n"])
            self._functions[computation] = functions
        return self._functions[computation]

    def _read(self, computation: str) -> Iterator[_Line]:
        for text in self._bodies[computation]:
            match = _LINE.fullmatch(text)
            if match is None:
                raise ValueError(text)
            root, name, shape, opcode, rest = match.groups()
            operands, _, attributes = rest.partition(")")
            names = _NAME.findall(operands)
            is_part = bool(_PART.search(text))
            yield _Line(name, shape, opcode, names, f"){attributes}" if names else rest, bool(root), is_part)

    def _inline(self, computation: str, lines: dict[str, _Line], prefix: str = "", inputs: Sequence[str] = ()) -> str:
        """Add the lines of a computation, with those of the computations that it calls, and return its root's name."""
        names: dict[str, str] = {}
        root = ""
        for line in self._read(computation):
            operands = [names[name] for name in line.operands]
            name = prefix + line.name
            if prefix and line.opcode == "parameter":
                name = inputs[_find_number(line)]
            elif self._inlines and line.opcode == "call":
                [callee] = _NAME.findall(line.rest)
                name = self._inline(callee, lines, f"{name}-", operands)
            else:
                lines[name] = line._replace(name=name, operands=operands)
            names[line.name] = name
            root = name if line.is_root else root
        return root


def _digest(*parts: object) -> str:
    data = b"\0".join(part if isinstance(part, bytes) else f"{part}".encode() for part in parts)
    return hashlib.sha256(data).hexdigest()


def _make_value(arrays: Sequence[Shards]) -> _Value:
    digests = [
        _digest(*(part for array in shards for part in (array.shape, array.dtype, array.tobytes())))
        for shards in arrays
    ]
    return _Value(arrays, digests)


def _join(values: Sequence[_Value]) -> _Value:
    return _Value([*chain(*(value.arrays for value in values))], [*chain(*(value.digests for value in values))])


def _find_number(parameter: _Line) -> int:
    return int(parameter.rest.partition(")")[0])
