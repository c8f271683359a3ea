"""Eight faults that can be seen in a dump, each with a function that finds the instructions that prove it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from xla_inspect.analysis import fused_computations, is_fusion, list_kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Instruction

LARGE = 64 * 1024
"""The minimum bytes of an array that counts as a fault."""

ALIKE, ROUNDS = 4, 16
"""The least number of matmuls of equal shape for an unrolled loop, and of iterations for a loop over rows."""


def _with_fusions(capture: Capture, instructions: list[Instruction]) -> list[Instruction]:
    """Return instructions, and the fusions that contain them."""
    computations = {instruction.computation for instruction in instructions} & fused_computations(capture.module)
    fusions = [
        instruction
        for instruction in capture.module.walk()
        if is_fusion(instruction) and computations.intersection(instruction.called)
    ]
    return [*instructions, *fusions]


def _find_callbacks(capture: Capture) -> list[Instruction]:
    return [
        instruction
        for instruction in capture.module.walk()
        if instruction.opcode == "custom-call" and "callback" in instruction.attributes.get("custom_call_target", "")
    ]


def _find_constants(capture: Capture) -> list[Instruction]:
    return [
        instruction
        for instruction in capture.module.walk()
        if instruction.opcode == "constant" and instruction.shape.bytes >= LARGE
    ]


def _find_copies(capture: Capture) -> list[Instruction]:
    # Only a copy of an argument proves missing donation; other copies have other causes.
    parameters = {instruction.name for instruction in capture.module.entry if instruction.opcode == "parameter"}
    copies = [
        instruction
        for instruction in capture.module.entry
        if instruction.opcode == "copy" and instruction.shape.bytes >= LARGE
    ]
    return [instruction for instruction in copies if parameters.intersection(instruction.operands)]


def _find_one_hots(capture: Capture) -> list[Instruction]:
    """Return the comparisons with positions that make one-hot rows, their fusions, and the matmuls that read them.

    The list is empty if no matmul reads such rows.
    """
    proofs: list[Instruction] = []
    for computation in capture.module.computations:
        places = [
            instruction
            for instruction in computation
            if instruction.opcode == "iota" and len(instruction.shape.dimensions) > 1
        ]
        names = {instruction.name for instruction in places}
        compared = [
            instruction
            for instruction in computation
            if instruction.opcode == "compare"
            and names.intersection(instruction.operands)
            and "EQ" in instruction.attributes["direction"]
        ]
        # An iota also has other uses, so it counts only with the comparison that makes the one-hot rows.
        proofs += [*places, *compared] if compared else []
    proofs = _with_fusions(capture, proofs)
    names_of_proofs = {instruction.name for instruction in proofs}
    matmuls = [
        instruction
        for instruction in capture.module.entry
        if names_of_proofs.intersection(instruction.operands) and _has_matmul(capture, instruction)
    ]
    inside = [
        instruction for fusion in matmuls for name in fusion.called for instruction in capture.module.computation(name)
    ]
    return (
        [*proofs, *matmuls, *(instruction for instruction in inside if instruction.opcode == "dot")] if matmuls else []
    )


def _has_matmul(capture: Capture, instruction: Instruction) -> bool:
    inside = [inner for name in instruction.called for inner in capture.module.computation(name)]
    return instruction.opcode == "dot" or (is_fusion(instruction) and any(inner.opcode == "dot" for inner in inside))


def _find_rows(capture: Capture) -> list[Instruction]:
    # A loop over rows is recognized by kernels in its body that one call launches at least `ROUNDS` times.
    inside = {kernel.instruction.computation for kernel in list_kernels(capture) if kernel.assumed_runs >= ROUNDS}
    loops = [instruction for instruction in capture.module.walk() if instruction.opcode == "while"]
    return [instruction for instruction in loops if inside.intersection(instruction.called)]


def _find_sorts(capture: Capture) -> list[Instruction]:
    return _with_fusions(
        capture, [instruction for instruction in capture.module.walk() if instruction.opcode == "sort"]
    )


def _find_transposes(capture: Capture) -> list[Instruction]:
    moved = [
        instruction
        for instruction in capture.module.walk()
        if instruction.opcode == "transpose" and instruction.shape.bytes >= LARGE
    ]
    turned = [
        instruction
        for instruction in capture.module.walk()
        if instruction.opcode == "dot"
        and instruction.attributes.get("lhs_contracting_dims") == "{0}"
        and len(capture.module.operands(instruction)[0].shape.dimensions) > 1
    ]
    return _with_fusions(capture, [*moved, *turned])


def _find_unrolled(capture: Capture) -> list[Instruction]:
    matmuls = [instruction for instruction in capture.module.walk() if instruction.opcode == "dot"]
    # The iterations of an unrolled loop appear as many matmuls of the same shape.
    counts = Counter(str(instruction.shape) for instruction in matmuls)
    return _with_fusions(capture, [instruction for instruction in matmuls if counts[str(instruction.shape)] >= ALIKE])


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
"""The faults by name, each with the function that finds the instructions that prove it."""
