"""The origin of a launch: the Python expressions whose operations it computes."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis.fusions import list_work
from xla_inspect.analysis.op_lines import Operation, find_expression, read_operations

if TYPE_CHECKING:
    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Frame, Instruction


# Instructions without a line sort after every line.
NOWHERE = sys.maxsize


@dataclass(frozen=True, slots=True)
class LaunchOrigin:
    """One Python expression and the instructions of a launch that came from it.

    Attributes:
        line: The line of the program's file on which the expression begins, or None if it is unknown.
        expression: The text of the expression on one line, or an empty string.
        opcodes: The opcodes of the instructions, in the order of the text.
    """

    line: int | None
    expression: str
    opcodes: tuple[str, ...]


def list_origins(capture: Capture, launch: Instruction) -> tuple[LaunchOrigin, ...]:
    """Return the expressions that a launch computes, each with its opcodes, by line; those without a line come last.

    An instruction that the compiler merged from several has the origin of one of them.

    Args:
        capture: The compilation of the program for one target.
        launch: An instruction of the optimized entry computation.
    """
    # Of two operations with the same key, the dictionary stores the last one, which is the outer operation.
    operations = {_key(entry.op_name, entry.frame): entry for entry in read_operations(capture.stablehlo_locations)}
    opcodes_by_place: dict[tuple[int, str], list[str]] = {}
    for instruction in list_work(capture.module, launch):
        # Inner frames may be in libraries; the expression has to be in the program's own file.
        frames = capture.frames.get(instruction.stack_frame or 0, ())
        frame = next((frame for frame in frames if frame.file == capture.source_file), None)
        name = instruction.op_name or ""
        # HLO records only where an expression begins. `x @ w` and `x @ w + b` begin at the same place, so the name
        # decides.
        operation = operations.get(_key(name, frame)) or Operation("", name, frame)
        line = frame.line if frame else NOWHERE
        opcodes_by_place.setdefault((line, find_expression(capture, operation)), []).append(instruction.opcode)
    return tuple(
        LaunchOrigin(line if line < NOWHERE else None, expression, tuple(opcodes))
        for (line, expression), opcodes in sorted(opcodes_by_place.items(), key=lambda group: group[0][0])
    )


def _key(name: str, frame: Frame | None) -> tuple[str, str, int, int]:
    return (name, frame.file, frame.line, frame.column) if frame else (name, "", NOWHERE, 0)
