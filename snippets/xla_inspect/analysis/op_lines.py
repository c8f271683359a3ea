"""The origins of operations: the Python expression behind each StableHLO operation and each HLO instruction."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis.fusions import is_fusion
from xla_inspect.hlo import Frame

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction, Module

type Place = tuple[str, int] | None
"""A file and a line number in it, counted from 1, or None."""

_OPERATION = re.compile(r'^\s*(?:%[^=]+= )?"?([a-z_]+\.[\w.]+|call)\b.* loc\((#loc\d*)\)$', re.MULTILINE)
_LOCATION = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.MULTILINE)
_NAMED = re.compile(r'"((?:[^"\\]|\\.)*)"\((#loc\d*)\)')
_PLACE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)(?: to (\d*):(\d+))?')
_SUFFIX = re.compile(r" ?loc\((?:#loc\d*|unknown|\"(?:[^\"\\]|\\.)*\"(?:\(#loc\d*\))?)\)")
_MARK = re.compile(r" +# *(?:(?P<file>.*?):(?P<line>\d+):\d+ \(.*\))?$")
_CALL = re.compile(r"callsite\((#loc\d*) at #loc\d*\)")


@dataclass(frozen=True, slots=True)
class Operation:
    """A StableHLO operation and its origin.

    Attributes:
        name: The operation, such as `stablehlo.add` or `call`.
        op_name: JAX's name for it, such as `jit(layer)/add`, which the metadata of HLO repeats.
        frame: The innermost Python expression, or None if the text has no location.
    """

    name: str
    op_name: str
    frame: Frame | None


def read_operations(stablehlo: str) -> list[Operation]:
    """Return the operations of a StableHLO module printed with locations, in order.

    A location has one of the forms of MLIR's builtin dialect: a name around another location, a place in a file, or a
    call site.
    """
    locations = dict(_LOCATION.findall(stablehlo))
    operations = []
    for name, alias in _OPERATION.findall(stablehlo):
        # These operations only structure the module and compute nothing.
        if name.endswith("return") or name == "func.func":
            continue
        match = _NAMED.fullmatch(locations.get(alias, ""))
        op_name, inner = (match[1], match[2]) if match else ("", alias)
        operations.append(Operation(name, op_name, _resolve(locations, inner, "")))
    return operations


def read_stablehlo_lines(text: str) -> list[tuple[str, Place]]:
    """Return each line of a StableHLO module printed with locations: its text without them, and its place in Python."""
    locations = dict(_LOCATION.findall(text))
    lines: list[tuple[str, Place]] = []
    for line in text.splitlines():
        if line.startswith("#loc"):
            continue
        operation = _OPERATION.match(line)
        frame = _resolve(locations, operation[2], "") if operation else None
        lines.append((_SUFFIX.sub("", line), (frame.file, frame.line) if frame else None))
    return lines


def read_jaxpr_lines(text: str) -> list[tuple[str, Place]]:
    """Return each line of a jaxpr printed with source lines: its text without them, and its place in Python.

    A line that continues an equation or is nested in it has the origin of that equation.
    """
    lines: list[tuple[str, Place]] = []
    # The indentation and the origin of each equation around the current line.
    around: list[tuple[int, Place]] = []
    for line in text.splitlines():
        mark = _MARK.search(line)
        code = line[: mark.start()].rstrip() if mark else line
        depth = len(code) - len(code.lstrip())
        # A closing bracket ends an inner jaxpr but still belongs to the equation around it.
        while around and around[-1][0] >= depth and not code.lstrip().startswith("]"):
            around.pop()
        if mark and mark["file"]:
            around.append((depth, (mark["file"], int(mark["line"]))))
        lines.append((code, around[-1][1] if around else None))
    return lines


def read_names(stablehlo: str) -> dict[str, set[Frame]]:
    """Return the Python frames of each operation and function name in a StableHLO module printed with locations."""
    locations = dict(_LOCATION.findall(stablehlo))
    places: dict[str, set[Frame]] = {}
    for text in locations.values():
        if (match := _NAMED.fullmatch(text)) and (frame := _resolve(locations, match[2], "")):
            places.setdefault(match[1], set()).add(frame)
    return places


def _resolve(locations: Mapping[str, str], alias: str, function: str) -> Frame | None:
    """Return the first file position inside a location; aliases refer only to earlier ones, so the recursion ends."""
    text = locations.get(alias, "")
    if match := _NAMED.fullmatch(text):
        return _resolve(locations, match[2], match[1])
    if call := _CALL.fullmatch(text):
        return _resolve(locations, call[1], function)
    place = _PLACE.fullmatch(text)
    if place is None:
        return None
    file, line, column, end_line, end_column = place.groups()
    # MLIR prints Python's column numbers, which start at 0; a `Frame` counts from 1.
    return Frame(file, function, int(line), int(column) + 1, int(end_line or line), int(end_column or column) + 1)


def find_instructions(capture: Capture, module: Module, operation: Operation) -> list[Instruction]:
    """Return the instructions that came from an operation: those with its line and with its name or a name inside it.

    The name alone is not enough, because operations on several lines may share it. HLO records only the position at
    which an expression begins.

    Args:
        capture: The capture that contains the operation and the module.
        module: The capture's module at any stage.
        operation: The operation to look for.
    """
    return [
        instruction
        for instruction in module.walk()
        if (name := instruction.op_name) is not None
        and (name == operation.op_name or name.startswith(f"{operation.op_name}/"))
        and operation.frame is not None
        # Only the innermost frame counts, because an outer frame is shared by all operations of a called function.
        and any(
            (frame.file, frame.line) == (operation.frame.file, operation.frame.line)
            for frame in capture.frames.get(instruction.stack_frame or 0, ())[:1]
        )
    ]


def find_launch(module: Module, instruction: Instruction) -> Instruction | None:
    """Return the instruction outside any fusion that runs an instruction: itself, or the fusion around it.

    The result is None for an instruction of the function that a reduction, a sort or similar applies to single
    elements.
    """
    while calling := module.callers.get(instruction.computation):
        caller = calling[-1]
        if caller.opcode not in {"fusion", "async-start", "call", "while", "conditional"}:
            return None
        # Loops, branches and calls are not launches, so the instruction inside them is the result.
        if not is_fusion(caller):
            break
        instruction = caller
    return instruction


def find_line(capture: Capture, text: str) -> int:
    """Return the number, counted from 1, of the first line in the program's file that contains `text`.

    Raises:
        ValueError: No line contains it.
    """
    for number, line in enumerate(capture.source.splitlines(), 1):
        if text in line:
            return number
    message = f"no line of {capture.source_file} contains {text!r}"
    raise ValueError(message)


def find_expression(capture: Capture, operation: Operation) -> str:
    """Return the Python expression of an operation on one line, or an empty string if it is in another file."""
    frame = operation.frame
    if frame is None or frame.file != capture.source_file:
        return ""
    lines = capture.source.splitlines()[frame.line - 1 : frame.end_line]
    if not lines:
        return ""
    # Cut the last line first: if the expression is on one line, the column of its end counts from the line's start.
    lines[-1] = lines[-1][: frame.end_column - 1]
    lines[0] = lines[0][frame.column - 1 :]
    return " ".join(line.strip() for line in lines)
