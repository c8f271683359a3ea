"""Bytes that each launch reads and writes, by the memory they lie in."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis.fusions import find_result
from xla_inspect.analysis.launches import list_launches
from xla_inspect.analysis.needs import count_operands, count_written

if TYPE_CHECKING:
    from xla_inspect.hlo import Instruction, Module, Shape

MAIN = 0
"""The memory space of a device's main memory (HBM on an accelerator); a TPU's on-chip memory has other numbers."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes that one launch moves.

    Attributes:
        name: The instruction.
        read: Bytes that it asks of its operands, by memory space: each element once, but a row of a gather as often as
            its indices may name it, up to the whole operand.
        written: Bytes that it writes to its results, by memory space.
        least: Bytes of main memory that every run of it moves, whatever its indices are: where they may all be the
            same, one row.
    """

    name: str
    read: Counter[int]
    written: Counter[int]
    least: int

    @property
    def main(self) -> int:
        """Bytes read from main memory and written to it."""
        return self.read[MAIN] + self.written[MAIN]

    @property
    def total(self) -> int:
        """Bytes read and written in any memory."""
        return self.read.total() + self.written.total()


def list_traffic(module: Module) -> tuple[Traffic, ...]:
    """Return the bytes that each launch moves, in order, without tile padding and caches; a loop's body counts once."""
    return tuple(measure_traffic(module, launch.instruction) for launch in list_launches(module))


def main_memory_bytes(module: Module) -> int:
    """Bytes that all launches read from main memory and write to it, each once."""
    return sum(traffic.main for traffic in list_traffic(module))


def measure_traffic(module: Module, kernel: Instruction) -> Traffic:
    """Count the bytes that one launch moves, each time that it runs, without tile padding and without caches.

    Of an operand only the elements count that the result needs, and of an array that is updated in place only the part
    that is replaced (`xla_inspect.analysis.needs`). Scratch memory that a library call returns beside its result counts
    as written.

    Args:
        module: The module.
        kernel: An instruction of it that is launched.
    """
    operands = module.computation(kernel.computation).operands(kernel)
    result = find_result(kernel)
    read, written = Counter[int](), Counter[int]()
    least = 0
    needs = defaultdict(list)
    for operand, need in zip(operands, count_operands(module, kernel, result.size), strict=True):
        needs[operand].append(need)
    for operand, shares in needs.items():
        for leaf in operand.shape.leaves():
            count = leaf.size if operand.shape.is_tuple else min(leaf.size, sum(share.asked for share in shares))
            read[_space(leaf)] += _bytes(leaf, count)
            if _space(leaf) == MAIN:
                least += _bytes(leaf, min(leaf.size, max(share.least for share in shares)))
    leaves, parts = result.leaves(), count_written(module, kernel)
    for leaf, part in zip(leaves, parts if len(parts) == len(leaves) else [None] * len(leaves), strict=True):
        written[_space(leaf)] += _bytes(leaf, min(leaf.size, part.asked)) if part else leaf.bytes
        if _space(leaf) == MAIN:
            least += _bytes(leaf, min(leaf.size, part.least)) if part else leaf.bytes
    return Traffic(kernel.name, +read, +written, least)


def _bytes(shape: Shape, elements: int) -> int:
    """Return the bytes of some elements of an array, rounded up where several share a byte."""
    return -(-shape.bytes * elements // shape.size) if shape.size else 0


def _space(shape: Shape) -> int:
    return shape.layout.memory_space if shape.layout is not None else MAIN
