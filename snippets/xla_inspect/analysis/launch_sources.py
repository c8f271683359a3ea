"""What a launch is made of: the Python expressions whose operations ended up in it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis.fusions import is_fusion
from xla_inspect.analysis.op_sources import Operation, find_expression, read_operations
from xla_inspect.hlo import IDLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Frame, Instruction, Module


# Sorts after every line.
NOWHERE = sys.maxsize


@dataclass(frozen=True, slots=True)
class LaunchOrigin:
    """One Python expression and the instructions of a launch that came from it.

    Attributes:
        line: The line of the program's file where it begins, or None when the instructions name none.
        expression: Its text on one line, or an empty string.
        opcodes: The opcodes, in the order of the text.
    """

    line: int | None
    expression: str
    opcodes: tuple[str, ...]


def list_origins(capture: Capture, launch: Instruction) -> tuple[LaunchOrigin, ...]:
    """The expressions that a launch computes, by line, instructions without a line last.

    Where the compiler made one instruction of several, it keeps the place of one of them.

    Args:
        capture: The program on one target.
        launch: An instruction of its optimized entry computation.
    """
    places = {_key(operation.op_name, operation.frame): operation for operation in _operations(capture)}
    opcodes_by_place: dict[tuple[int, str], list[str]] = {}
    for instruction in _walk(capture.module, launch):
        frames = capture.frames.get(instruction.stack_frame or 0, ())
        frame = next((frame for frame in frames if frame.file == capture.source_file), None)
        name = instruction.op_name or ""
        # HLO knows an expression by where it begins, as `x @ w` and `x @ w + b` do at one place: the name decides.
        operation = places.get(_key(name, frame)) or Operation("", name, frame)
        line = frame.line if frame else NOWHERE
        opcodes_by_place.setdefault((line, find_expression(capture, operation)), []).append(instruction.opcode)
    return tuple(
        LaunchOrigin(line if line < NOWHERE else None, expression, tuple(opcodes))
        for (line, expression), opcodes in sorted(opcodes_by_place.items(), key=lambda item: item[0][0])
    )


def _operations(capture: Capture) -> Iterator[Operation]:
    """The operations that JAX lowered; of two with one key the last, as a dictionary keeps it, is the outer one."""
    for operation in read_operations(capture.stablehlo_locations):
        if operation.frame is not None and operation.frame.file == capture.source_file:
            yield operation


def _key(name: str, frame: Frame | None) -> tuple[str, int, int]:
    return (name, frame.line, frame.column) if frame else (name, NOWHERE, 0)


def _walk(module: Module, launch: Instruction) -> Iterator[Instruction]:
    """The instructions that do work inside a launch, in order, those of nested fusions in their place."""
    if not is_fusion(launch):
        if launch.opcode not in IDLE:
            yield launch
        return
    for computation in module.called(launch):
        for instruction in computation:
            yield from _walk(module, instruction)
