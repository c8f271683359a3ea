"""Eight faults that a dump shows, each with the instructions that prove it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from xla_inspect.analysis import fused_computations, is_fusion, list_kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction

LARGE = 64 * 1024
"""Bytes from which an array is worth a fault."""

ALIKE, ROUNDS = 4, 16
"""How many matmuls of one shape are a loop written out, and how many rounds take one row after the other."""


def _with_fusions(found: Capture, instructions: list[Instruction]) -> list[Instruction]:
    """Return instructions, and the fusions that hold them."""
    held = {each.computation for each in instructions} & fused_computations(found.module)
    fusions = [each for each in found.module.walk() if is_fusion(each) and held.intersection(each.called)]
    return [*instructions, *fusions]


def _find_callbacks(found: Capture) -> list[Instruction]:
    return [
        each
        for each in found.module.walk()
        if each.opcode == "custom-call" and "callback" in each.attributes.get("custom_call_target", "")
    ]


def _find_constants(found: Capture) -> list[Instruction]:
    return [each for each in found.module.walk() if each.opcode == "constant" and each.shape.bytes >= LARGE]


def _find_copies(found: Capture) -> list[Instruction]:
    parameters = {each.name for each in found.module.entry if each.opcode == "parameter"}
    copies = [each for each in found.module.entry if each.opcode == "copy" and each.shape.bytes >= LARGE]
    return [each for each in copies if parameters.intersection(each.operands)]


def _find_one_hots(found: Capture) -> list[Instruction]:
    """Return comparisons of numbers with places, what fuses them, and the matmuls that read them."""
    proofs: list[Instruction] = []
    for computation in found.module.computations:
        places = [each for each in computation if each.opcode == "iota" and len(each.shape.dimensions) > 1]
        names = {each.name for each in places}
        compared = [
            each
            for each in computation
            if each.opcode == "compare" and names.intersection(each.operands) and "EQ" in each.attributes["direction"]
        ]
        proofs += [*places, *compared] if compared else []
    proofs = _with_fusions(found, proofs)
    made = {each.name for each in proofs}
    matmuls = [each for each in found.module.entry if made.intersection(each.operands) and _has_matmul(found, each)]
    inside = [each for fusion in matmuls for name in fusion.called for each in found.module.computation(name)]
    return [*proofs, *matmuls, *(each for each in inside if each.opcode == "dot")] if matmuls else []


def _has_matmul(found: Capture, instruction: Instruction) -> bool:
    inside = [each for name in instruction.called for each in found.module.computation(name)]
    return instruction.opcode == "dot" or (is_fusion(instruction) and any(each.opcode == "dot" for each in inside))


def _find_rows(found: Capture) -> list[Instruction]:
    inside = {each.instruction.computation for each in list_kernels(found) if (each.runs or 1) >= ROUNDS}
    loops = [each for each in found.module.walk() if each.opcode == "while"]
    return [each for each in loops if inside.intersection(each.called)]


def _find_sorts(found: Capture) -> list[Instruction]:
    return _with_fusions(found, [each for each in found.module.walk() if each.opcode == "sort"])


def _find_transposes(found: Capture) -> list[Instruction]:
    moved = [each for each in found.module.walk() if each.opcode == "transpose" and each.shape.bytes >= LARGE]
    turned = [
        each
        for each in found.module.walk()
        if each.opcode == "dot"
        and each.attributes.get("lhs_contracting_dims") == "{0}"
        and len(found.module.operands(each)[0].shape.dimensions) > 1
    ]
    return _with_fusions(found, [*moved, *turned])


def _find_unrolled(found: Capture) -> list[Instruction]:
    matmuls = [each for each in found.module.walk() if each.opcode == "dot"]
    counts = Counter(str(each.shape) for each in matmuls)
    return _with_fusions(found, [each for each in matmuls if counts[str(each.shape)] >= ALIKE])


FAULTS: Mapping[str, Callable[[Capture], list[Instruction]]] = {
    "callback": _find_callbacks,
    "constant": _find_constants,
    "copy": _find_copies,
    "one_hot": _find_one_hots,
    "rows": _find_rows,
    "sort": _find_sorts,
    "transpose": _find_transposes,
    "unrolled": _find_unrolled,
}
"""The faults by name, each with what finds the instructions that prove it."""
