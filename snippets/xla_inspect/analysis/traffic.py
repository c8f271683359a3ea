"""The bytes that each launch reads and writes by memory space, counted from shapes and not measured."""

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
    """The memory traffic of one launch.

    Attributes:
        name: The name of the instruction.
        read: The bytes that it reads from its operands, by memory space: each element once, but a row of a gather as
            often as its indices may select it, up to the whole operand.
        written: The bytes that it writes to its results, by memory space.
        least: The bytes of main memory that every run moves for any indices; if all indices may be equal, one row.
    """

    name: str
    read: Counter[int]
    written: Counter[int]
    least: int

    @property
    def main(self) -> int:
        """The bytes read from main memory and written to it."""
        return self.read[MAIN] + self.written[MAIN]

    @property
    def total(self) -> int:
        """The bytes read and written in all memory spaces."""
        return self.read.total() + self.written.total()


def list_traffic(module: Module) -> tuple[Traffic, ...]:
    """Return the traffic of each launch in order, without tile padding and caches; a loop's body counts once."""
    return tuple(measure_traffic(module, launch.instruction) for launch in list_launches(module))


def main_memory_bytes(module: Module) -> int:
    """Return the bytes of main memory that all launches read and write, each launch once."""
    return sum(traffic.main for traffic in list_traffic(module))


def measure_traffic(module: Module, kernel: Instruction) -> Traffic:
    """Return the traffic of one run of a launch, counted from shapes without tile padding and without caches.

    Only the needed elements of an operand count, and only the replaced part of an array that is updated in place
    (`xla_inspect.analysis.needs`). Scratch memory that a library call returns with its result counts as written.

    Args:
        module: The module.
        kernel: A launched instruction of the module.
    """
    operands = module.computation(kernel.computation).operands(kernel)
    result = find_result(kernel)
    bytes_read, bytes_written = Counter[int](), Counter[int]()
    least = 0
    needs = defaultdict(list)
    for operand, need in zip(operands, count_operands(module, kernel, result.size), strict=True):
        needs[operand].append(need)
    # An operand may be passed several times, so the needs of its uses are combined.
    for operand, shares in needs.items():
        for leaf in operand.shape.leaves():
            count = leaf.size if operand.shape.is_tuple else min(leaf.size, sum(share.asked for share in shares))
            bytes_read[_space(leaf)] += _bytes(leaf, count)
            if _space(leaf) == MAIN:
                least += _bytes(leaf, min(leaf.size, max(share.least for share in shares)))
    leaves, parts = result.leaves(), count_written(module, kernel)
    # If the result has a different number of arrays than the computation returns, all of them count in full.
    for leaf, part in zip(leaves, parts if len(parts) == len(leaves) else [None] * len(leaves), strict=True):
        bytes_written[_space(leaf)] += _bytes(leaf, min(leaf.size, part.asked)) if part else leaf.bytes
        if _space(leaf) == MAIN:
            least += _bytes(leaf, min(leaf.size, part.least)) if part else leaf.bytes
    # The unary plus drops memory spaces without any bytes.
    return Traffic(kernel.name, +bytes_read, +bytes_written, least)


def _bytes(shape: Shape, elements: int) -> int:
    """Return the bytes of some elements of an array, rounded up if several elements share a byte."""
    return -(-shape.bytes * elements // shape.size) if shape.size else 0


def _space(shape: Shape) -> int:
    return shape.layout.memory_space if shape.layout is not None else MAIN
