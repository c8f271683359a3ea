"""Bytes that each launch reads and writes, by the memory they lie in."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis.launches import list_launches

if TYPE_CHECKING:
    from xla_inspect.hlo import Computation, Instruction, Module, Shape

MAIN = 0
"""The memory space of a device's main memory (HBM on an accelerator); a TPU's on-chip memory has other numbers."""

_WINDOWS = frozenset({"slice", "dynamic-slice"})
_UPDATE = "dynamic-update-slice"


@dataclass(frozen=True, slots=True)
class Traffic:
    """What one launch moves.

    Attributes:
        name: The instruction.
        read: Bytes of its operands by memory space, each operand once.
        written: Bytes of its results by memory space.
    """

    name: str
    read: Counter[int]
    written: Counter[int]

    @property
    def main(self) -> int:
        """Bytes read from main memory and written to it."""
        return self.read[MAIN] + self.written[MAIN]

    @property
    def total(self) -> int:
        """Bytes read and written in any memory."""
        return self.read.total() + self.written.total()


def list_traffic(module: Module) -> tuple[Traffic, ...]:
    """What each launch moves, in order, without tile padding and without caches; a loop's body counts once."""
    return tuple(measure_traffic(module, launch.instruction) for launch in list_launches(module))


def main_memory_bytes(module: Module) -> int:
    """Bytes that all launches read from main memory and write to it, each once."""
    return sum(traffic.main for traffic in list_traffic(module))


def measure_traffic(module: Module, kernel: Instruction) -> Traffic:
    """What one launch moves, each time that it runs, without tile padding and without caches.

    An operand that a launch only slices counts as the slices, and one of which it replaces a part, as that part: it is
    not read, and of the result only the part is written (`HloCostAnalysis` counts so too). The scratch memory that a
    library call returns beside its result counts as written.

    Args:
        module: The module.
        kernel: An instruction of it that is launched.
    """
    holder = module.computation(kernel.computation)
    read: Counter[int] = Counter()
    holds = kernel.opcode in {"fusion", "async-start"} and kernel.called
    inside = module.called(kernel)[0] if holds else None
    slots: dict[str, list[int]] = {}
    for number, name in enumerate(kernel.operands):
        slots.setdefault(name, []).append(number)
    for name, numbers in slots.items():
        shape = holder.by_name[name].shape
        taken = min(shape.bytes, _result(kernel).bytes) if _takes_a_window(kernel) else shape.bytes
        if kernel.opcode == _UPDATE and numbers == [0]:
            taken = 0
        elif inside is not None and len(inside.parameters) == len(kernel.operands):
            taken = min(taken, sum(_needed(inside, inside.parameters[number]) for number in numbers))
        for leaf in _leaves(shape):
            read[_space(leaf)] += taken if not shape.is_tuple else leaf.bytes
    written: Counter[int] = Counter()
    leaves = _leaves(_result(kernel))
    parts = _find_parts(holder, kernel) if inside is None else _find_parts(inside, inside.root)
    for number, leaf in enumerate(leaves):
        part = parts[number] if len(parts) == len(leaves) else None
        written[_space(leaf)] += leaf.bytes if part is None else part
    return Traffic(kernel.name, +read, +written)


def _takes_a_window(kernel: Instruction) -> bool:
    return (kernel.wrapped or kernel.opcode) in _WINDOWS


def _find_parts(holder: Computation, value: Instruction) -> tuple[int | None, ...]:
    """Return for each array of a value the bytes of the part that it replaces in another, or None where all is new."""
    if value.opcode == "tuple":
        return tuple(_find_parts(holder, element)[0] for element in holder.operands(value))
    while value.opcode == "bitcast":
        value = holder.by_name[value.operands[0]]
    return (holder.by_name[value.operands[1]].shape.bytes if value.opcode == _UPDATE else None,)


def _needed(inside: Computation, value: Instruction) -> int:
    """Bytes of a value that its users take: all of it, unless each of them takes a slice or replaces a part."""
    users = inside.users(value.name)
    if value.is_root or not users:
        return value.shape.bytes
    taken = 0
    for user in users:
        if user.opcode in _WINDOWS and user.operands[0] == value.name:
            taken += user.shape.bytes
        elif user.opcode == _UPDATE and value.name not in user.operands[1:]:
            # In place, only the part is touched.
            continue
        elif user.opcode == "bitcast":
            taken += _needed(inside, user)
        else:
            return value.shape.bytes
    return min(taken, value.shape.bytes)


def _result(kernel: Instruction) -> Shape:
    """What is written: of an asynchronous start, which also carries its operands and a context, only the result."""
    if kernel.opcode == "copy-start":
        return kernel.shape.elements[0]
    if kernel.opcode in {"async-start", "all-gather-start", "all-reduce-start"} and len(kernel.shape.elements) > 1:
        return kernel.shape.elements[1]
    return kernel.shape


def _leaves(shape: Shape) -> tuple[Shape, ...]:
    if shape.elements:
        return tuple(leaf for element in shape.elements for leaf in _leaves(element))
    return (shape,) if shape.is_array else ()


def _space(shape: Shape) -> int:
    return shape.layout.memory_space if shape.layout is not None else MAIN
