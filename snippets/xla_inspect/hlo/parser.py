"""The parser of HLO text into a `Module`, for optimized, unoptimized and per-pass modules of every target."""

from __future__ import annotations

import re
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from xla_inspect.errors import HloSyntaxError
from xla_inspect.hlo.attributes import ATTRIBUTE, split_attributes
from xla_inspect.hlo.frame_tables import TABLES, Tables
from xla_inspect.hlo.lines import Header, fail, read_closing, read_header, read_instruction
from xla_inspect.hlo.module import Computation, Instruction, Module
from xla_inspect.hlo.normal_form import NormalForm
from xla_inspect.hlo.shape import MAX_DEPTH
from xla_inspect.hlo.text_end import check_end, check_entry
from xla_inspect.hlo.tuple_elements import spell_out_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

_MODULE = re.compile(rf"HloModule ([^\s,]++)((?:, {ATTRIBUTE})*+)\s*+", re.ASCII)
_MODULE_NAME = re.compile(r"HloModule ([^\s,]++)", re.ASCII)


_CALLERS = frozenset({"call", "conditional", "fusion", "while"})

_computations: WeakValueDictionary[str, Computation] = WeakValueDictionary()
"""The computations in use, by text; they are shared because a pass leaves most computations unchanged."""
_instructions: WeakValueDictionary[tuple[str, str], Instruction] = WeakValueDictionary()
"""The instructions in use, by name of the computation and text."""


def parse_module(text: str) -> Module:
    """Parse HLO text as XLA prints it, with or without `%`, operand shapes and stack-frame tables.

    Every line is either understood in full or rejected, and the time is linear in the length of the text. Operands and
    called computations must be defined in the text. A tuple element that is selected at its use, as in most dumps
    (`%loop#1`), becomes an instruction of the module: the `get-tuple-element` `loop_1`.

    Raises:
        HloSyntaxError: The text is not an HLO module, or contains unknown syntax; the error has the line and column.
    """
    try:
        return _Reader(text.split("\n")).read()
    except HloSyntaxError:
        pass  # The text is handwritten or invalid; the slower rewriter decides.
    try:
        form = NormalForm(text)
    except HloSyntaxError as error:
        check_end(text, error.line)
        raise
    try:
        module = _Reader(form.text.split("\n")).read()
    except HloSyntaxError as error:
        line, column = form.locate(error.line, error.column)
        check_end(text, line)
        raise HloSyntaxError(error.message, line, column) from None
    check_entry(text)
    return module


class _Reader:
    """A reader of a module's lines in the printed form, with the computations and tables read so far."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._computations: dict[str, Computation] = {}
        self._spans: dict[str, tuple[int, int]] = {}
        self._tables = Tables()

    def read(self) -> Module:
        """Parse the header line, and then the tables and computations to the end; return the module."""
        index = self._skip_blank(0)
        name, attributes = self._module_header(index)
        index = self._skip_blank(index + 1)
        while index < len(self._lines):
            title = self._lines[index].rstrip()
            index = self._tables.read(self._lines, index) if title in TABLES else self._computation(index)
            index = self._skip_blank(index)
        # Only the end of the text shows whether there is exactly one entry computation.
        entries = [computation for computation in self._computations.values() if computation.is_entry]
        if len(entries) != 1:
            line = self._spans[entries[1].name][0] + 1 if entries else len(self._lines)
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
            for count in ("num_partitions", "replica_count"):
                if not attributes.get(count, "1").isdecimal():
                    fail(f"{count} is no number", index + 1, text, text.index(count))
            return match.group(1), attributes
        name = _MODULE_NAME.match(text)
        if name is None:
            fail(f"expected 'HloModule name', found {text[:40]!r}", index + 1, text, 0)
        position = name.end()
        # Only text that fails needs this pattern, whose compilation takes milliseconds.
        pattern = re.compile(rf", {ATTRIBUTE}", re.ASCII)
        while (attribute := pattern.match(text, position)) is not None:
            position = attribute.end()
        return fail(f"expected an attribute, found {text[position : position + 30]!r}", index + 1, text, position)

    def _computation(self, start: int) -> int:
        """Parse the computation whose header is on line index `start`, and return the index of the line after it."""
        lines = self._lines
        end = next((index for index in range(start, len(lines)) if lines[index].startswith("}")), start)
        text = "\n".join(lines[start : end + 1])
        if (shared := _computations.get(text)) is not None:
            self._keep(shared, start, end)
            return end + 1
        # The number of computations before this one shows later whether it contains nested computations.
        before = len(self._computations)
        header = read_header(lines[start], start + 1)
        instructions, index = self._body(start + 1, header.name)
        closing = read_closing(lines[index], index + 1)
        computation = self._add(header, instructions, start, index, closing.get("execution_thread"))
        if index == end and len(self._computations) == before + 1:  # A computation with nested ones cannot be shared.
            _computations[text] = computation
        return index + 1

    def _add(
        self, header: Header, instructions: list[Instruction], start: int, end: int, thread: str | None
    ) -> Computation:
        """Check the instructions of a computation, store the computation, and return it."""
        root = self._check(header.name, instructions, start, end)
        if any(instruction.operand_indices for instruction in instructions):
            instructions = self._spell_out(instructions, (start, end))
            root = next(instruction for instruction in instructions if instruction.is_root)
        # An `all-gather-done` looks the same in both forms, so only its start shows which one it is.
        instructions, root = _follow_async(instructions, root)
        computation = Computation(header.name, tuple(instructions), root, header.is_entry, thread and thread.strip('"'))
        self._keep(computation, start, end)
        return computation

    def _spell_out(self, instructions: list[Instruction], span: tuple[int, int]) -> list[Instruction]:
        """Return instructions with a `get-tuple-element` for each selected tuple element such as `%loop#1`."""
        # The instructions are found again by their text, so that unchanged lines are not parsed twice.
        by_text = {instruction.text: instruction for instruction in instructions}
        expanded = []
        for text in spell_out_lines([*by_text]):
            instruction = by_text.get(text) or read_instruction(text, span[0] + 1, instructions[0].computation)
            if instruction.operand_indices:
                pairs = zip(instruction.operands, instruction.operand_indices, strict=True)
                selection = next("#".join([name, *map(str, index)]) for name, index in pairs if index)
                self._fail_at(instruction, span, f"{selection!r} is no element of a tuple", selection)
            expanded.append(instruction)
        return expanded

    def _keep(self, computation: Computation, start: int, end: int) -> None:
        if computation.name in self._computations:
            fail(f"computation {computation.name!r} is defined twice", start + 1, self._lines[start], 0)
        self._computations[computation.name] = computation
        self._spans[computation.name] = start, end

    def _body(self, start: int, name: str, depth: int = 0) -> tuple[list[Instruction], int]:
        """Parse instructions up to the closing brace, and return them and the index of the brace's line."""
        lines = self._lines
        instructions: list[Instruction] = []
        index = start
        while index < len(lines):
            text = lines[index]
            # A line that ends in `=` or `={` continues with a nested computation, which an indented brace ends.
            if text.startswith(" ") and not text.endswith(("=", "={")) and (depth == 0 or text.lstrip()[:1] != "}"):
                line_instruction = _instructions.get((name, text))
                if line_instruction is None:
                    line_instruction = _instructions[name, text] = read_instruction(text, index + 1, name)
                instructions.append(line_instruction)
            elif text.lstrip().startswith("}"):
                return instructions, index
            elif text.endswith(("=", "={")):
                instruction, index = self._nesting(index, name, depth)
                instructions.append(instruction)
            elif text.strip():
                fail(f"expected an instruction or '}}', found {text[:40]!r}", index + 1, text, 0)
            index += 1
        message = f"the text ends inside computation {name!r}, which starts on line {start}"
        raise HloSyntaxError(message, len(lines), len(lines[-1]) + 1)

    def _nesting(self, index: int, computation: str, depth: int) -> tuple[Instruction, int]:
        """Parse an instruction whose attributes contain the called computations, as in canonical text.

        The unnamed computations are named for the instruction and the attribute: `main.tmp_3.calls`.
        """
        if depth >= MAX_DEPTH:
            fail(f"computations nest deeper than {MAX_DEPTH} levels", index + 1, self._lines[index], 0)
        start = index
        text = self._lines[index]
        name = text.partition("=")[0].strip().removeprefix("ROOT ").removeprefix("%")
        while text.endswith(("=", "={")):
            attribute = text.rpartition(", ")[2].partition("=")[0]
            if text.endswith("={"):
                computations: list[str] = []
                rest = ","
                while rest == ",":
                    index, rest = self._nested(
                        index + 1, f"{computation}.{name}.{attribute}.{len(computations)}", depth
                    )
                    computations.append(f"%{computation}.{name}.{attribute}.{len(computations)}")
                index += 1
                end = self._lines[index].strip() if index < len(self._lines) and not rest else ""
                if not end.startswith("}"):
                    fail("expected '}' after the computations", min(index, len(self._lines) - 1) + 1, "", 0)
                text += f"{', '.join(computations)}{end}"
            else:
                index, rest = self._nested(index + 1, f"{computation}.{name}.{attribute}", depth)
                text += f"%{computation}.{name}.{attribute}{rest}"
        try:
            return read_instruction(text, start + 1, computation), index
        except HloSyntaxError as error:
            # The text was assembled from several lines, so only columns of the first line exist in the source.
            column = min(error.column, len(self._lines[start]) + 1)
            raise HloSyntaxError(str(error).partition(": ")[2], start + 1, column) from None

    def _nested(self, index: int, name: str, depth: int) -> tuple[int, str]:
        """Parse an unnamed computation, and return the index of its last line and the text after the brace."""
        lines = self._lines
        if index >= len(lines) or lines[index].strip() != "{":
            line = min(index, len(lines) - 1)
            fail("expected '{' and a computation", line + 1, lines[line], 0)
        instructions, end = self._body(index + 1, name, depth + 1)
        self._add(Header(name, is_entry=False), instructions, index, end, None)
        return end, lines[end].strip()[1:]

    def _check(self, name: str, instructions: list[Instruction], start: int, end: int) -> Instruction:
        """Return the root; raise an error unless names are unique, operands defined and exactly one root marked."""
        span = start, end
        defined = {instruction.name for instruction in instructions}
        # The set comparison is fast; only a module with duplicates pays for finding the first one.
        if len(defined) != len(instructions):
            visited: set[str] = set()
            for instruction in instructions:
                if instruction.name in visited:
                    self._fail_at(instruction, span, f"{instruction.name!r} is defined twice", instruction.name)
                visited.add(instruction.name)
        roots = [instruction for instruction in instructions if instruction.is_root]
        if len(roots) != 1:
            line = self._find_line(roots[1], span) if roots else end + 1
            message = f"computation {name!r} has {len(roots)} ROOT instructions, expected one"
            raise HloSyntaxError(message, line, 1)
        for instruction in instructions:
            if not defined.issuperset(instruction.operands):
                missing = next(operand for operand in instruction.operands if operand not in defined)
                message = f"operand {missing!r} is not defined in computation {name!r}"
                self._fail_at(instruction, span, message, missing)
        return roots[0]

    def _check_calls(self) -> None:
        for computation in self._computations.values():
            for instruction in computation.instructions:
                if instruction.calls:
                    for name in instruction.called:
                        if name not in self._computations:
                            span = self._spans[computation.name]
                            self._fail_at(instruction, span, f"computation {name!r} is not defined", name)
                elif instruction.opcode in _CALLERS:
                    message = f"expected the computation that {instruction.opcode} calls"
                    self._fail_at(instruction, self._spans[computation.name], message, instruction.opcode)
        calls = TopologicalSorter({name: computation.called for name, computation in self._computations.items()})
        try:
            calls.prepare()
        except CycleError as error:
            # Each name in the list is that of a computation that the next one calls.
            callee, caller = error.args[1][:2]
            calling = next(one for one in self._computations[caller] if callee in one.called)
            self._fail_at(calling, self._spans[caller], f"computation {callee!r} calls itself", callee)

    def _fail_at(self, instruction: Instruction, span: tuple[int, int], message: str, name: str) -> None:
        """Raise an `HloSyntaxError` at the last occurrence of a name in an instruction's line."""
        line = self._find_line(instruction, span)
        text = self._lines[line - 1]
        places = list(re.finditer(rf"(?<![\w.\-]){re.escape(name)}(?![\w.\-])", text, re.ASCII))
        fail(message, line, text, places[-1].start() if places else 0)

    def _find_line(self, instruction: Instruction, span: tuple[int, int]) -> int:
        """Return the number of the last line in a span that begins an instruction; nested computations repeat some."""
        lines = [*enumerate(self._lines[slice(*span)], span[0] + 1)]
        numbers = [number for number, text in lines if text.strip() and instruction.text.startswith(text)]
        if not numbers:  # `instruction.text` has an extra instruction for a selected element
            names = re.compile(rf"\s*+(?:ROOT )?%?{re.escape(instruction.name)} = ", re.ASCII)
            numbers = [number for number, text in lines if names.match(text)]
        return max(numbers)


def _follow_async(instructions: list[Instruction], root: Instruction) -> tuple[list[Instruction], Instruction]:
    """Return instructions and root with `async-done` for each `all-gather-done` or the like that ends `async-start`."""
    starts = {instruction.name: instruction for instruction in instructions if instruction.opcode == "async-start"}
    if not starts:
        return instructions, root
    replacements = {}
    for instruction in instructions:
        if instruction.opcode.endswith("-done") and instruction.wrapped is None and instruction.operands:
            start = starts.get(instruction.operands[0])
            if start is not None and start.wrapped is not None and instruction.opcode == f"{start.wrapped}-done":
                replacements[instruction] = replace(instruction, opcode="async-done", wrapped=start.wrapped)
    return [replacements.get(instruction, instruction) for instruction in instructions], replacements.get(root, root)
