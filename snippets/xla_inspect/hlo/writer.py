"""The writer of HLO text from a `Module`, which XLA's own parser reads back to the same module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.hlo.attributes import quote
from xla_inspect.hlo.frame_tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping

    from xla_inspect.hlo.frame import Frame
    from xla_inspect.hlo.module import Computation, Instruction, Module


def write_module(module: Module) -> str:
    """Return a module as HLO text in the form of XLA's printer.

    The text has the module's names, shapes, literals and attributes unchanged, and operand shapes if the module has
    them.
    """
    header = "".join([f"HloModule {module.name}", *(f", {key}={value}" for key, value in module.attributes.items())])
    tables = _write_tables(module.stack_frames) if module.stack_frames else ()
    bodies = ("\n".join([*_write_computation(computation), ""]) for computation in module.computations)
    return "\n".join([header, "", *tables, *bodies])


def _write_computation(computation: Computation) -> Iterator[str]:
    """Yield the lines of a computation."""
    # The header has no signature: XLA ignores the written shape of a few opcodes, but would compare a signature.
    yield f"{'ENTRY ' if computation.is_entry else ''}%{computation.name} {{"
    for instruction in computation:
        yield f"  {write_instruction(instruction)}"
    thread = computation.execution_thread
    yield "}" if thread is None else f"}}, execution_thread={quote(thread)}"


def write_instruction(instruction: Instruction) -> str:
    """Return an instruction as HLO text: `ROOT %add = f32[2]{0} add(%a, %b), metadata={op_name="add"}`."""
    opcode = instruction.opcode
    if instruction.wrapped is not None:
        # The text shortens an asynchronous form to the opcode that it wraps, as in `slice-start`.
        opcode = instruction.wrapped + opcode.removeprefix("async")
    arguments = instruction.literal if instruction.literal is not None else ", ".join(_write_operands(instruction))
    root = "ROOT " if instruction.is_root else ""
    return f"{root}%{instruction.name} = {instruction.shape} {opcode}({arguments}){instruction.attribute_text}"


def _write_operands(instruction: Instruction) -> Iterator[str]:
    shapes = instruction.operand_shapes or (None,) * len(instruction.operands)
    indices = instruction.operand_indices or ((),) * len(instruction.operands)
    for name, shape, index in zip(instruction.operands, shapes, indices, strict=True):
        selection = "".join(f"#{number}" for number in index)
        yield f"%{name}{selection}" if shape is None else f"{shape} %{name}{selection}"


def _write_tables(chains: Mapping[int, tuple[Frame, ...]]) -> Iterator[str]:
    """Yield the lines of the four stack-frame tables for call chains, given by the number of their stack frame."""
    frames = [frame for chain in chains.values() for frame in chain]
    files = _number(frame.file for frame in frames)
    functions = _number(frame.function for frame in frames)
    places = _number(frames)
    # Several frames may have equal chains; the reversed order makes the first number win.
    numbers = {chain: number for number, chain in reversed([*chains.items()])}
    yield TABLES[0]
    yield from (f"{number} {quote(file)}" for file, number in files.items())
    yield from ("", TABLES[1])
    yield from (f"{number} {quote(function)}" for function, number in functions.items())
    yield from ("", TABLES[2])
    for frame, number in places.items():
        file, function = files[frame.file], functions[frame.function]
        # Columns in the text count from 0, but those of a `Frame` count from 1.
        span = (
            f"line={frame.line} end_line={frame.end_line} column={frame.column - 1} end_column={frame.end_column - 1}"
        )
        yield f"{number} {{file_name_id={file} function_name_id={function} {span}}}"
    yield from ("", TABLES[3])
    for number, chain in chains.items():
        # The text prints the number of a frame's caller plus one; 1 means no caller.
        caller = numbers[chain[1:]] + 1 if len(chain) > 1 else 1
        yield f"{number} {{file_location_id={places[chain[0]]} parent_frame_id={caller}}}"
    yield from ("", "")


def _number[Row: Hashable](rows: Iterable[Row]) -> dict[Row, int]:
    """Return a number for each distinct row, from 1 in the order of first occurrence."""
    return {row: number for number, row in enumerate(dict.fromkeys(rows), 1)}
