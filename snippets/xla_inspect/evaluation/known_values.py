"""The values of operations that ran, so that an operation with the same operands does not run again."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING, Any, NamedTuple

from xla_inspect.evaluation.plain_lines import ORDER
from xla_inspect.hlo import parse_module

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np

    from xla_inspect.hlo import Computation, Instruction, Module

type Shards = Sequence[np.ndarray[Any, Any]]
"""The arrays of one value by device."""

MOST_BYTES = 1 << 28
"""The size of all values above which they are forgotten, and of a module's values above which it runs as a whole."""

_NAME = re.compile(r"%([\w.-]+)")
_ARRAY = re.compile(r"\w+\[[\d,]*\]")
# Nested tuples, tokens, and arrays with a layout.
_WHOLE = re.compile(r"\(.*\(|\btoken\[|\{")


class _Value(NamedTuple):
    """The arrays of a value, of which a tuple has several, and digests of their bits."""

    arrays: Sequence[Shards]
    digests: Sequence[bytes]


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

        The values also depend on the settings, such as the passes that may change the module. The function `compute`
        runs a module as a whole.

        Raises:
            ValueError: The module must run as a whole, or as in `compute`.
        """
        if self._bytes > MOST_BYTES:
            self._values, self._bytes = {}, 0
        module = _PlainModule(parse_module(text), inlines="call-inliner" in str(settings))
        lines, root = module.list_lines()
        values: dict[str, _Value] = {}
        outputs = {root, *(name for line in lines.values() if line.opcode == "tuple" for name in line.operands)}
        for name, line in lines.items():
            operands = [values[operand] for operand in line.operands if operand in values]
            if line.parameter_number is not None:
                values[name] = _make_value([arguments[line.parameter_number]])
            elif line.opcode == "tuple":
                values[name] = _join(operands)
            elif line.opcode == "get-tuple-element":
                number = int(line.attributes["index"])
                values[name] = _Value([operands[0].arrays[number]], [operands[0].digests[number]])
            elif not _is_part(line) or name in outputs:
                operation, names = module.write_operation(line, lines)
                inputs = _join([values[name] for name in names])
                key = _digest(settings, operation, *inputs.digests)
                if key not in self._values:
                    value = self._values[key] = _make_value(compute(operation, inputs.arrays))
                    self._bytes += sum(array.nbytes for shards in value.arrays for array in shards)
                values[name] = self._values[key]
        return values[root].arrays


class _PlainModule:
    """A plain module, in which the instructions of a computation may replace its calls."""

    def __init__(self, module: Module, *, inlines: bool) -> None:
        self._module, self._inlines = module, inlines
        self._functions: dict[str, dict[str, str]] = {}

    def list_lines(self) -> tuple[dict[str, Instruction], str]:
        """Return the lines of the entry computation that its root needs, by name, and the name of the root.

        Raises:
            ValueError: A value is no array or flat tuple, or all are too large.
        """
        lines: dict[str, Instruction] = {}
        root = self._inline(self._module.entry, lines)
        needed = {root}
        for line in reversed(lines.values()):
            needed.update(line.operands if line.name in needed else ())
        lines = {name: line for name, line in lines.items() if name in needed}
        size = sum(line.shape.bytes for line in lines.values())
        if size > MOST_BYTES or any(_WHOLE.search(line.shape.text) for line in lines.values()):
            message = "the module runs only as a whole"
            raise ValueError(message)
        return lines, root

    def write_operation(self, line: Instruction, lines: Mapping[str, Instruction]) -> tuple[str, Sequence[str]]:
        """Return a module that computes one line, and the names of the lines whose arrays are its arguments."""
        names: dict[str, str] = {}
        inputs: list[str] = []
        body: list[str] = []
        functions: dict[str, str] = {}
        number = count()

        def add(line: Instruction) -> None:
            for operand in dict.fromkeys(line.operands):
                if operand not in names and _is_part(lines[operand]):
                    add(lines[operand])
                elif operand not in names:
                    inputs.append(operand)
                    shape = lines[operand].shape.text
                    parts = _ARRAY.findall(shape)
                    places = [f"%p{next(number)}" for _ in parts]
                    body.extend(f"  {p} = {part} parameter({p[2:]})" for p, part in zip(places, parts, strict=True))
                    names[operand] = places[0]
                    if shape.startswith("("):
                        names[operand] = f"%t{len(body)}"
                        body.append(f"  {names[operand]} = {shape} tuple({', '.join(places)})")
            self._write_line(line, names, body, functions)

        add(line)
        body[-1] = f"  ROOT {body[-1].strip()}"
        return "\n".join(["HloModule m\n", *functions.values(), "ENTRY %main {", *body, "}\n"]), inputs

    def _write_line(self, line: Instruction, names: dict[str, str], body: list[str], functions: dict[str, str]) -> None:
        """Add the text of a line with new names, and of the functions that it refers to."""

        def rename(match: re.Match[str]) -> str:
            if match[1] not in self._module.by_name:
                return match[0]
            called = self._write_function(match[1])
            functions.update(called)
            return f"%{next(reversed(called))}"

        arguments = ", ".join(names[name] for name in line.operands) if line.literal is None else line.literal
        attributes = _NAME.sub(rename, line.attribute_text)
        names[line.name] = f"%v{len(body)}"
        body.append(f"  {names[line.name]} = {line.shape} {line.opcode}({arguments}){attributes}")

    def _write_function(self, computation: str) -> dict[str, str]:
        """Return the text of the functions that a computation refers to and then its own, by new names."""
        if computation not in self._functions:
            functions: dict[str, str] = {}
            names: dict[str, str] = {}
            body: list[str] = []
            for line in self._module.computation(computation):
                self._write_line(line, names, body, functions)
                body[-1] = f"  ROOT {body[-1].strip()}" if line.is_root else body[-1]
            # Equal functions of several modules have the same name.
            name = f"f{_digest(*body)}"
            functions[name] = "\n".join([f"%{name} {{", *body, "}\n"])
            self._functions[computation] = functions
        return self._functions[computation]

    def _inline(
        self, computation: Computation, lines: dict[str, Instruction], prefix: str = "", inputs: Sequence[str] = ()
    ) -> str:
        """Add the lines of a computation, with those of the computations that it calls, and return its root's name."""
        names: dict[str, str] = {}
        for line in computation:
            operands = tuple(names[name] for name in line.operands)
            name = prefix + line.name
            if prefix and line.parameter_number is not None:
                name = inputs[line.parameter_number]
            elif self._inlines and line.opcode == "call":
                name = self._inline(self._module.computation(line.called[0]), lines, f"{name}-", operands)
            else:
                lines[name] = replace(line, name=name, operands=operands)
            names[line.name] = name
        return names[computation.root.name]


def _is_part(line: Instruction) -> bool:
    """Return whether a line belongs to the operation that uses it, because it is constant or orders a transpose."""
    # XLA chooses how to compute an operation by its constant operands.
    return line.opcode == "constant" or ORDER in line.name


def _digest(*parts: object) -> str:
    data = b"\0".join(part if isinstance(part, bytes) else f"{part}".encode() for part in parts)
    return hashlib.sha256(data).hexdigest()


def _make_value(arrays: Sequence[Shards]) -> _Value:
    return _Value(arrays, [hash_bits(shards) for shards in arrays])


def hash_bits(shards: Shards) -> bytes:
    """Return a hash of the types, shapes and bits of the arrays of a value."""
    return hashlib.sha256(b"".join(f"{one.dtype}{one.shape}".encode() + one.tobytes() for one in shards)).digest()


def _join(values: Sequence[_Value]) -> _Value:
    return _Value([*chain(*(value.arrays for value in values))], [*chain(*(value.digests for value in values))])
