"""The line of Python of each instruction, also of one whose metadata was lost, and short texts of a line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from xla_inspect.analysis.value_flow import REWRITING, search

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Computation, Frame, Instruction, Module

_PRODUCTS = frozenset({"convolution", "dot"})
"""Opcodes that never compute a part of the line of a neighbour, as a copy or a conversion does."""
_REWRITING_PRIMITIVES = frozenset(
    {
        "bitcast_convert_type",
        "broadcast_in_dim",
        "convert_element_type",
        "copy",
        "copy_p",
        "expand_dims",
        "reduce_precision",
        "reshape",
        "squeeze",
        "transpose",
    }
)
"""Primitives of JAX whose metadata names a new form of a value, and not the operation that made it."""

_CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class SourceLine:
    """The line of Python that an instruction belongs to.

    Attributes:
        file: One of the capture's sources.
        number: The line, counted from one.
        through: How it is known: an empty string for the instruction's own metadata, else the name of the
            instruction whose line it is: one that it takes, or the first that takes it.
    """

    file: str
    number: int
    through: str


def find_lines(capture: Capture, module: Module) -> dict[Instruction, SourceLine]:
    """Return the line of each instruction that has one.

    An instruction without metadata of its own belongs to the line of what only rewrites its result, as a bitcast that
    kept the metadata of a matmul. Without such, it belongs to the line of what it takes, as a prefetch, else to that of
    what takes it; a matmul or a convolution then has none, since it is no part of what its neighbours compute.

    Args:
        capture: The capture that the module belongs to.
        module: A stage of it.
    """
    return {
        instruction: line
        for computation in module.computations
        for instruction, line in find_computation_lines(capture, module, computation).items()
    }


def find_computation_lines(
    capture: Capture, module: Module, computation: Computation, known: dict[int, SourceLine | None] | None = None
) -> dict[Instruction, SourceLine]:
    """Return the line of each instruction of one computation that has one, as `find_lines` does.

    Args:
        capture: The capture that the computation belongs to.
        module: A stage of it.
        computation: A computation of that stage.
        known: The lines of stack frames that were found before, by id; it takes up those that are found now.
    """
    places = {} if known is None else known

    def locate(instruction: Instruction) -> SourceLine | None:
        number = instruction.stack_frame or 0
        if number not in places:
            frame = find_frame(capture, instruction)
            places[number] = SourceLine(frame.file, frame.line, "") if frame else None
        return places[number]

    lines: dict[Instruction, SourceLine] = {}
    for instruction in computation:
        if (line := locate(instruction)) is not None:
            lines[instruction] = line
        elif (name := _find_renamed(module, instruction)) and (line := locate(name)) is not None:
            lines[instruction] = replace(line, through=name.name)
    # Operands stand before their users: in order, a line is handed down; against it, up.
    for instruction in computation:
        if instruction not in lines and instruction.opcode not in _PRODUCTS:
            _borrow(lines, instruction, computation.operands(instruction))
    for instruction in reversed(computation.instructions):
        if instruction not in lines and instruction.opcode not in _PRODUCTS:
            _borrow(lines, instruction, computation.users(instruction.name))
    return lines


def _find_renamed(module: Module, value: Instruction) -> Instruction | None:
    """Return the instruction that only rewrites a result and has the metadata of the operation that made it.

    It stands beside the value, in a fusion that takes it, or behind the fusion whose result it is.
    """
    computation = module.computation(value.computation)
    if value.opcode in _PRODUCTS and value.name == computation.root.name and not computation.is_entry:
        callers = module.callers.get(computation.name, ())
        value = next((caller for caller in callers if caller.opcode == "fusion"), value)
    for same in search([value], partial(_list_nameless, module)):
        for user in module.users(same):
            if (
                user.opcode in REWRITING
                and user.op_name
                and user.op_name.rpartition("/")[2] not in _REWRITING_PRIMITIVES
            ):
                return user
    return None


def _list_nameless(module: Module, value: Instruction) -> Iterator[Instruction]:
    """Yield the instructions without metadata that only rewrite a value, and the parameters that fusions take it as."""
    for user in module.users(value):
        if user.opcode in REWRITING and not user.op_name:
            yield user
        elif user.opcode == "fusion":
            [fused] = module.called(user)
            yield from (fused.parameters[place] for place, name in enumerate(user.operands) if name == value.name)


def find_frame(capture: Capture, instruction: Instruction) -> Frame | None:
    """Return the innermost place in the capture's sources that an instruction came from."""
    frames = capture.frames.get(instruction.stack_frame or 0, ())
    return next((frame for frame in frames if frame.file in capture.sources), None)


def _borrow(lines: dict[Instruction, SourceLine], instruction: Instruction, others: tuple[Instruction, ...]) -> None:
    lender = next((other for other in others if other in lines), None)
    if lender is not None:
        lines[instruction] = replace(lines[lender], through=lines[lender].through or lender.name)


def show_place(line: SourceLine) -> str:
    """Return a line of Python in few characters: the file without its folders, and the number."""
    return f"{line.file.rpartition('/')[2]}:{line.number}"


def read_line(capture: Capture, line: SourceLine) -> str:
    """Return the text of a line of Python, or an empty string where the capture does not hold its file."""
    lines = capture.sources.get(line.file, "").splitlines()
    return " ".join(lines[line.number - 1].split()) if 0 < line.number <= len(lines) else ""


def close_brackets(text: str) -> str:
    """Return a line of Python whose last bracket stays open, as that of a call over several lines, with it closed.

    Args:
        text: Such as `return pl.pallas_call(`, of which `return pl.pallas_call(...)` is made.
    """
    code = text.partition("  #")[0].rstrip()
    return f"{code}...{_CLOSING[code[-1]]}" if code and code[-1] in _CLOSING else text
