"""The line of Python of each instruction, even if its metadata was lost, and short texts about a line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from xla_inspect.analysis.value_flow import REWRITING, search

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Computation, Frame, Instruction, Module

_PRODUCTS = frozenset({"convolution", "dot"})
"""Opcodes that never belong to the line of a neighboring instruction, unlike a copy or a conversion."""
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
"""JAX primitives that change only the form of a value, so their metadata does not name the operation behind it."""

_CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class SourceLine:
    """The line of Python that an instruction belongs to.

    Attributes:
        file: The file, one of the capture's sources.
        number: The line number, counted from 1.
        through: An empty string if the line comes from the instruction's own metadata, otherwise the name of the
            operand or user that the line was taken from.
    """

    file: str
    number: int
    through: str


def find_lines(capture: Capture, module: Module) -> dict[Instruction, SourceLine]:
    """Return the line of Python of each instruction of a module whose line is known.

    An instruction without metadata gets the line of an instruction that only rewrites its result, such as a bitcast
    that kept the metadata of a matmul. Otherwise it gets the line of an operand, as a prefetch does, or of a user. A
    matmul or a convolution does not take the line of a neighbor, because it is not a part of the neighbor's
    computation.

    Args:
        capture: The capture that contains the module.
        module: The capture's module at any stage.
    """
    return {
        instruction: line
        for computation in module.computations
        for instruction, line in find_computation_lines(capture, module, computation).items()
    }


def find_computation_lines(
    capture: Capture, module: Module, computation: Computation, cache: dict[int, SourceLine | None] | None = None
) -> dict[Instruction, SourceLine]:
    """Return the line of Python of each instruction of one computation whose line is known; see `find_lines`.

    Args:
        capture: The capture that contains the computation.
        module: The capture's module at the stage of the computation.
        computation: The computation.
        cache: A cache of the lines of stack frames by id, which this function extends.
    """
    places = {} if cache is None else cache

    def locate(instruction: Instruction) -> SourceLine | None:
        # The ids of frames start at 1, so 0 represents all instructions without a frame.
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
    # Operands precede their users: a forward walk passes lines on to users, a backward walk to operands.
    for instruction in computation:
        if instruction not in lines and not _is_carry(instruction, computation):
            _borrow(lines, instruction, computation.operands(instruction))
    # The values that a loop carries belong to the line of the loop, not to that of another value that it carries.
    lines = _find_caller_line(computation.root, module.callers.get(computation.name, ()), locate) | lines
    for instruction in reversed(computation.instructions):
        if instruction not in lines and not _is_bundle(instruction):
            _borrow(lines, instruction, computation.users(instruction.name))
    return lines


def _find_caller_line(
    root: Instruction, callers: Iterable[Instruction], locate: Callable[[Instruction], SourceLine | None]
) -> dict[Instruction, SourceLine]:
    """Return the line of the first caller with a line, by the computation's root; empty without one or for no tuple."""
    lines = ((caller, locate(caller)) for caller in callers if root.opcode == "tuple")
    return next(({root: replace(line, through=caller.name)} for caller, line in lines if line), {})


def _is_carry(instruction: Instruction, computation: Computation) -> bool:
    """Return whether an instruction is a product, or a tuple of values that a loop carries, of several lines."""
    return instruction.opcode in _PRODUCTS or (instruction.opcode == "tuple" and not computation.is_entry)


def _is_bundle(instruction: Instruction) -> bool:
    """Return whether an instruction holds values of several lines: a product of tuples, or a parameter that is one."""
    return instruction.opcode in _PRODUCTS or (instruction.opcode == "parameter" and instruction.shape.is_tuple)


def _find_renamed(module: Module, value: Instruction) -> Instruction | None:
    """Return the instruction that only rewrites a value and has the metadata of the operation that computed the value.

    The instruction is in the value's computation, in a fusion that reads the value, or after the fusion that returns
    it.
    """
    computation = module.computation(value.computation)
    # The root of a fusion has no users inside the fusion; its users are those of the fusion instruction.
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
    """Yield the users without metadata that only rewrite a value, and the parameters by which fusions receive it."""
    for user in module.users(value):
        if user.opcode in REWRITING and not user.op_name:
            yield user
        elif user.opcode == "fusion":
            [fused] = module.called(user)
            # The computation of a handwritten fusion may lack parameters.
            pairs = zip(fused.parameters, user.operands, strict=False)
            yield from (parameter for parameter, name in pairs if name == value.name)


def find_frame(capture: Capture, instruction: Instruction) -> Frame | None:
    """Return the innermost frame of an instruction that is in one of the capture's source files, or None."""
    frames = capture.frames.get(instruction.stack_frame or 0, ())
    return next((frame for frame in frames if frame.file in capture.sources), None)


def _borrow(lines: dict[Instruction, SourceLine], instruction: Instruction, others: tuple[Instruction, ...]) -> None:
    lender = next((other for other in others if other in lines), None)
    if lender is not None:
        # After several borrowings, the name is still that of the instruction with the line.
        lines[instruction] = replace(lines[lender], through=lines[lender].through or lender.name)


def show_place(line: SourceLine) -> str:
    """Return the short form of a line of Python: the file name without folders, and the line number."""
    return f"{line.file.rpartition('/')[2]}:{line.number}"


def read_line(capture: Capture, line: SourceLine) -> str:
    """Return the text of a line of Python, or an empty string if the capture does not contain its file."""
    lines = capture.sources.get(line.file, "").splitlines()
    return " ".join(lines[line.number - 1].split()) if 0 < line.number <= len(lines) else ""


def close_brackets(text: str) -> str:
    """Return a line of Python with an open bracket at its end closed; any other line is unchanged.

    Args:
        text: The line, such as `return pl.pallas_call(`, which becomes `return pl.pallas_call(...)`.
    """
    # Formatted code has two blanks before a comment, unlike most `#` inside strings.
    code = text.partition("  #")[0].rstrip()
    return f"{code}...{_CLOSING[code[-1]]}" if code and code[-1] in _CLOSING else text
