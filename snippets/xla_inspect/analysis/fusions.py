"""The fusions of a module: their kinds, fused instructions and bytes, and tests for fusions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from xla_inspect.analysis.loops import read_config
from xla_inspect.analysis.value_flow import search
from xla_inspect.hlo import IDLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xla_inspect.hlo import Instruction, Module, Shape


@dataclass(frozen=True, slots=True)
class Fusion:
    """A fusion instruction with its fused computation.

    Attributes:
        name: The name of the fusion instruction.
        kind: `kLoop`, `kInput`, `kOutput` or `kCustom`.
        custom_kind: The emitter of a custom fusion, such as `__triton` or `__ynn_fusion`, or None.
        computation: The name of the computation that contains the instruction.
        called: The name of the fused computation.
        opcodes: The fused opcodes in order, without parameters; a nested fusion is replaced by its opcodes.
        operand_bytes: Bytes of the distinct operands, without tile padding.
        result_bytes: Bytes of the result, without tile padding.
    """

    name: str
    kind: str
    custom_kind: str | None
    computation: str
    called: str
    opcodes: tuple[str, ...]
    operand_bytes: int
    result_bytes: int


def list_fusions(module: Module, *, entry_only: bool = False) -> tuple[Fusion, ...]:
    """Return the fusions of a module in the order of the text, without those inside another fusion.

    Args:
        module: The module.
        entry_only: Whether to return only fusions of the entry computation, without loop bodies and branches.
    """
    inside = fused_computations(module)
    holders = (module.entry,) if entry_only else module.computations
    return tuple(
        _describe(module, instruction)
        for holder in holders
        if holder.name not in inside
        for instruction in holder
        if is_fusion(instruction)
    )


_FUSIONS = frozenset({"fusion", "async-start"})


def is_fusion(instruction: Instruction) -> bool:
    """Return whether an instruction is a fusion or starts a fusion asynchronously."""
    return instruction.opcode == "fusion" or (instruction.opcode == "async-start" and instruction.wrapped == "fusion")


_fused: WeakKeyDictionary[Module, frozenset[str]] = WeakKeyDictionary()
"""The results of `fused_computations` for modules in use, which stay valid because a module is immutable."""


def fused_computations(module: Module) -> frozenset[str]:
    """Return the names of all computations that fusions of a module call, directly or indirectly."""
    if (cached := _fused.get(module)) is not None:
        return cached
    names = _fused[module] = _find_fused(module)
    return names


def _find_fused(module: Module) -> frozenset[str]:
    holders = [computation for computation in module.computations if _FUSIONS.intersection(computation.opcode_counts)]
    fusions = (instruction for computation in holders for instruction in computation if is_fusion(instruction))
    callees = (name for fusion in fusions for name in fusion.called)
    return frozenset(search(callees, lambda name: module.computation(name).called))


def custom_fusion_kind(instruction: Instruction) -> str | None:
    """Return the emitter of a custom fusion from its backend config, such as `__ynn_fusion`, or None.

    The CPU compiler stores it under `fusion_config`, the GPU compiler under `fusion_backend_config`.
    """
    for key in ("fusion_config", "fusion_backend_config"):
        fusion_config = read_config(instruction).get(key)
        if isinstance(fusion_config, dict) and isinstance(fusion_config.get("kind"), str):
            return str(fusion_config["kind"]) or None
    return None


def list_opcodes(module: Module, fusion: Instruction) -> Iterator[str]:
    """Return the fused opcodes in order, without parameters; a nested fusion is replaced by its opcodes."""
    return (part.opcode for part in list_fused(module, fusion) if part.opcode != "parameter")


def list_work(module: Module, launch: Instruction) -> Iterator[Instruction]:
    """Return the instruction itself, or those that it fuses, in order, without opcodes that do no work (`IDLE`)."""
    parts = list_fused(module, launch) if is_fusion(launch) else (launch,)
    return (part for part in parts if part.opcode not in IDLE)


def list_fused(module: Module, fusion: Instruction) -> Iterator[Instruction]:
    """Yield the instructions inside a fusion in order, parameters too; a nested fusion is replaced by its contents."""
    # Each level stores its position in a computation. A computation that fuses itself would never end, so it is
    # skipped.
    levels = [(fusion.called[0], iter(module.called(fusion)[0]))]
    while levels:
        instruction = next(levels[-1][1], None)
        if instruction is None:
            levels.pop()
        elif is_fusion(instruction):
            name = instruction.called[0]
            if all(name != level for level, _ in levels):
                levels.append((name, iter(module.computation(name))))
        else:
            yield instruction


def _describe(module: Module, instruction: Instruction) -> Fusion:
    callees = module.called(instruction)[0]
    # An operand that is used twice is read once, so operands are counted by name.
    operands = {operand.name: operand for operand in module.operands(instruction)}
    return Fusion(
        name=instruction.name,
        kind=instruction.fusion_kind or "",
        custom_kind=custom_fusion_kind(instruction),
        computation=instruction.computation,
        called=callees.name,
        opcodes=tuple(list_opcodes(module, instruction)),
        operand_bytes=sum(operand.shape.bytes for operand in operands.values()),
        result_bytes=find_result(instruction).bytes,
    )


def find_result(instruction: Instruction) -> Shape:
    """Return the shape of an instruction's result; for an asynchronous start, the result's shape within its tuple."""
    # A `copy-start` returns the destination first, but an `async-start` or an `all-gather-start` its operands first.
    if instruction.opcode == "copy-start":
        return instruction.shape.elements[0]
    is_start = instruction.opcode in {"async-start", "all-gather-start", "all-reduce-start"}
    return instruction.shape.elements[1] if is_start and len(instruction.shape.elements) > 1 else instruction.shape
