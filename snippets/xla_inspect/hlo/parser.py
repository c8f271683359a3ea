"""The reader of HLO text: optimized, unoptimized and per-pass modules of every target."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xla_inspect.errors import HloSyntaxError
from xla_inspect.hlo.attributes import ATTRIBUTE, split_attributes
from xla_inspect.hlo.lines import fail, read_closing, read_header, read_instruction
from xla_inspect.hlo.module import Computation, Instruction, Module
from xla_inspect.hlo.tables import TABLES, Tables

if TYPE_CHECKING:
    from collections.abc import Sequence

_MODULE = re.compile(rf"HloModule ([^\s,]++)((?:, {ATTRIBUTE})*+)\s*+", re.ASCII)
_MODULE_NAME = re.compile(r"HloModule ([^\s,]++)", re.ASCII)
_MODULE_ATTRIBUTE = re.compile(rf", {ATTRIBUTE}", re.ASCII)


def parse(text: str) -> Module:
    """Read a module from HLO text as XLA prints it, with or without `%`, operand shapes and stack-frame tables.

    Every line is understood in full or refused: nothing is skipped, and the time taken grows in proportion to the
    length of the text. Operands and called computations must be defined in the text.

    Raises:
        HloSyntaxError: The text is no HLO module, or holds something that this reader does not know;
            with line and column.
    """
    return _Reader(text.split("\n")).read()


class _Reader:
    """The state of one reading: the lines and what has been found so far."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._computations: dict[str, Computation] = {}
        self._tables = Tables()

    def read(self) -> Module:
        """Read the header line, then tables and computations to the end."""
        index = self._skip_blank(0)
        name, attributes = self._module_header(index)
        index = self._skip_blank(index + 1)
        while index < len(self._lines):
            title = self._lines[index].rstrip()
            index = self._tables.read(self._lines, index) if title in TABLES else self._computation(index)
            index = self._skip_blank(index)
        entries = [computation for computation in self._computations.values() if computation.is_entry]
        if len(entries) != 1:
            line = entries[1].line if entries else len(self._lines)
            message = f"expected one ENTRY computation, found {len(entries)}"
            raise HloSyntaxError(message, line, 1)
        self._check_calls()
        return Module(name, attributes, tuple(self._computations.values()), self._tables.resolve())

    def _skip_blank(self, index: int) -> int:
        while index < len(self._lines) and not self._lines[index].strip():
            index += 1
        return index

    def _module_header(self, index: int) -> tuple[str, dict[str, str]]:
        if index == len(self._lines):
            message = "expected 'HloModule', found an empty text"
            raise HloSyntaxError(message, 1, 1)
        text = self._lines[index]
        match = _MODULE.fullmatch(text)
        if match is not None:
            attributes = split_attributes(match.group(2))
            if not attributes.get("num_partitions", "1").isdecimal():
                fail("num_partitions is no number", index + 1, text, text.index("num_partitions"))
            return match.group(1), attributes
        name = _MODULE_NAME.match(text)
        if name is None:
            fail(f"expected 'HloModule name', found {text[:40]!r}", index + 1, text, 0)
        position = name.end()
        while (attribute := _MODULE_ATTRIBUTE.match(text, position)) is not None:
            position = attribute.end()
        return fail(f"expected an attribute, found {text[position : position + 30]!r}", index + 1, text, position)

    def _computation(self, start: int) -> int:
        """Read the computation whose header is on line index `start`; return the index of the line after it."""
        lines = self._lines
        header = read_header(lines[start], start + 1)
        if header.name in self._computations:
            fail(f"computation {header.name!r} is defined twice", start + 1, lines[start], 0)
        instructions: list[Instruction] = []
        index = start + 1
        while index < len(lines):
            text = lines[index]
            if text.startswith(" "):
                instructions.append(read_instruction(text, index + 1, header.name))
            elif text.startswith("}"):
                break
            elif text.strip():
                fail(f"expected an instruction or '}}', found {text[:40]!r}", index + 1, text, 0)
            index += 1
        else:
            message = f"the text ends inside computation {header.name!r}, which starts on line {start + 1}"
            raise HloSyntaxError(message, len(lines), len(lines[-1]) + 1)
        thread = read_closing(lines[index], index + 1).get("execution_thread")
        root = self._check(header.name, instructions, index)
        self._computations[header.name] = Computation(
            header.name, tuple(instructions), root, header.is_entry, start + 1, thread and thread.strip('"')
        )
        return index + 1

    def _check(self, name: str, instructions: list[Instruction], end: int) -> Instruction:
        """Check that names are defined once and operands are defined; return the root."""
        defined = {instruction.name for instruction in instructions}
        if len(defined) != len(instructions):
            seen: set[str] = set()
            for instruction in instructions:
                if instruction.name in seen:
                    self._fail_at(instruction, f"{instruction.name!r} is defined twice", instruction.name)
                seen.add(instruction.name)
        roots = [instruction for instruction in instructions if instruction.is_root]
        if len(roots) != 1:
            line = roots[1].line if roots else end + 1
            message = f"computation {name!r} has {len(roots)} ROOT instructions, expected one"
            raise HloSyntaxError(message, line, 1)
        for instruction in instructions:
            if not defined.issuperset(instruction.operands):
                missing = next(operand for operand in instruction.operands if operand not in defined)
                self._fail_at(instruction, f"operand {missing!r} is not defined in computation {name!r}", missing)
        return roots[0]

    def _check_calls(self) -> None:
        for computation in self._computations.values():
            for instruction in computation.instructions:
                if instruction.calls:
                    for name in instruction.called:
                        if name not in self._computations:
                            self._fail_at(instruction, f"computation {name!r} is not defined", name)

    def _fail_at(self, instruction: Instruction, message: str, name: str) -> None:
        """Fail at the last place where an instruction's line names something."""
        text = self._lines[instruction.line - 1]
        places = list(re.finditer(rf"(?<![\w.\-]){re.escape(name)}(?![\w.\-])", text, re.ASCII))
        fail(message, instruction.line, text, places[-1].start() if places else 0)
