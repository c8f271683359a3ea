"""The loops of a CPU's kernel in optimized LLVM IR: their vector widths and trip counts."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis.machine.block_graph import Cycle, Function, find_cycles, list_functions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64, "ptr": 64}
"""The bits of LLVM's non-integer types."""

# A vector of `i1` is a mask of other vectors, so its width says nothing about the data.
_VECTOR = re.compile(r"<(\d+) x (half|bfloat|float|double|i(?!1>)\d+)>")
_CALL = re.compile(r'call (?:[^@()]|\([^()]*\))*@(?:"(?P<quoted>[^"]+)"|(?P<plain>[-\w.$]+))\(')
_LOOP_NODE = re.compile(r"!llvm\.loop !(\d+)")
_NODE = re.compile(r"^!(\d+) = (?:distinct )?!\{(.*)\}$", re.MULTILINE)
_NOTE = re.compile(r'!"(llvm\.loop\.[\w.]+)"')
_HELD = re.compile(r"!(\d+)")
_BRANCH = re.compile(r"^  br i1 %(?P<condition>[-\w.]+),")
_COMPARE = re.compile(r"= icmp (?:samesign )?(?P<how>\w+) i\d+ %(?P<value>[-\w.]+), (?P<bound>-?\d+)$")
_STEP = re.compile(r"= (?:add|or)(?: nuw| nsw| disjoint)* i\d+ %(?P<value>[-\w.]+), (?P<step>-?\d+)$")
_START = re.compile(r"= phi i\d+ .*\[ (?P<start>-?\d+), ")


@dataclass(frozen=True, slots=True)
class VectorLoop:
    """A loop of a kernel.

    Attributes:
        function: The name of the function that contains the loop.
        header: The label of its first block.
        depth: The number of nested loops, including this one.
        is_innermost: Whether it contains no other loop.
        turns: The trip count, or None if the code does not show it.
        instructions: The number of instructions, without those of inner loops.
        vectors: The number of instructions with each vector type, such as `<8 x float>`, without inner loops.
        calls: The functions that it calls, without LLVM's own functions and inner loops.
        notes: LLVM's notes about it, such as `llvm.loop.isvectorized`.
    """

    function: str
    header: str
    depth: int
    is_innermost: bool
    turns: int | None
    instructions: int
    vectors: Mapping[str, int]
    calls: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def width(self) -> int:
        """The bits of the most frequent vector type of its instructions; 0 without vectors."""
        return measure_width(self.vectors)

    @property
    def is_vectorized(self) -> bool:
        """True if the loop's instructions work on vectors."""
        return bool(self.vectors)


def list_loops(text: str) -> tuple[VectorLoop, ...]:
    """Return the loops of a kernel, each outer loop before its inner loops.

    Args:
        text: The kernel's module in optimized LLVM IR.
    """
    notes = _read_notes(text)
    return tuple(loop for function in list_functions(text) for loop in _list_loops(function, notes))


def list_defined(text: str) -> tuple[str, ...]:
    """Return the names of the functions that a module in LLVM IR defines."""
    return tuple(function.name for function in list_functions(text))


def count_vectors(text: str) -> dict[str, int]:
    """Return the number of instructions with each vector type, in loops and outside, most frequent first.

    Args:
        text: A module in LLVM IR.
    """
    lines = (line for function in list_functions(text) for block in function.blocks.values() for line in block)
    return _count_types(lines)


def measure_width(vectors: Mapping[str, int]) -> int:
    """Return the bits of the most frequent vector type, the widest of equally frequent ones; 0 without vectors."""
    most = max(vectors.values(), default=0)
    return max((measure_type(name) for name, number in vectors.items() if number == most), default=0)


def measure_type(name: str) -> int:
    """Return the bits of a vector type in LLVM IR, such as `<8 x float>`."""
    lanes, _, element = name.strip("<>").partition(" x ")
    return int(lanes) * (BITS.get(element) or int(element.removeprefix("i")))


def _list_loops(function: Function, notes: Mapping[str, tuple[str, ...]]) -> Iterator[VectorLoop]:
    cycles = find_cycles(function)
    for cycle in cycles:
        inner = [other for other in cycles if other is not cycle and other.header in cycle.blocks]
        inside = frozenset().union(*(other.blocks for other in inner)) if inner else frozenset[str]()
        lines = [line for label, block in function.blocks.items() if label in cycle.blocks - inside for line in block]
        calls = (match["quoted"] or match["plain"] for line in lines if (match := _CALL.search(line)))
        loop_notes = [
            note
            for latch in cycle.latches
            if (match := _LOOP_NODE.search(function.blocks[latch][-1]))
            for note in notes.get(match[1], ())
        ]
        yield VectorLoop(
            function=function.name,
            header=cycle.header,
            depth=sum(cycle.header in other.blocks for other in cycles),
            is_innermost=not inner,
            turns=_count_turns(function, cycle),
            instructions=len(lines),
            vectors=_count_types(lines),
            calls=tuple(dict.fromkeys(name for name in calls if not name.startswith("llvm."))),
            notes=tuple(loop_notes),
        )


def _count_types(lines: Iterable[str]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for line in lines:
        # One instruction prints the type of each operand, but counts once for each type.
        for lanes, element in set(_VECTOR.findall(line)):
            counts[f"<{lanes} x {element}>"] += 1
    return dict(counts.most_common())


def _read_notes(text: str) -> dict[str, tuple[str, ...]]:
    """Return LLVM's notes about each loop, such as `llvm.loop.isvectorized`, by the number of its metadata node."""
    nodes = dict(_NODE.findall(text))

    def list_notes(inside: str, number: str) -> Iterator[str]:
        for contents in _HELD.findall(inside):
            # The first entry of a loop's node refers to the node itself.
            if contents != number:
                yield from _NOTE.findall(nodes.get(contents, ""))

    return {number: tuple(list_notes(inside, number)) for number, inside in nodes.items()}


def _count_turns(function: Function, cycle: Cycle) -> int | None:
    """Return the trip count of a loop with constant start, step and bound, tested in its last block, or None."""
    # With several jumps back, the loop has no single test of its counter.
    if len(cycle.latches) != 1:
        return None
    lines = {
        line.split()[0].lstrip("%"): line
        for label in cycle.blocks
        for line in function.blocks[label]
        if line.startswith("  %")
    }
    branch = _BRANCH.match(function.blocks[cycle.latches[0]][-1])
    comparison = _COMPARE.search(lines.get(branch["condition"], "")) if branch else None
    step = _STEP.search(lines.get(comparison["value"], "")) if comparison else None
    if comparison is None:
        return None
    # The loop compares its counter either after the step or before it; in the second case the body runs once more.
    counter = step["value"] if step else comparison["value"]
    if step is None:
        step = next(
            (match for line in lines.values() if (match := _STEP.search(line)) and match["value"] == counter), None
        )
        extra = 1
    else:
        extra = 0
    start = _START.search(lines.get(counter, ""))
    if start is None or step is None or not int(step["step"]):
        return None
    turns, rest = divmod(int(comparison["bound"]) - int(start["start"]), int(step["step"]))
    # An inequality ends the loop even if the counter skips the bound, but other comparisons have to hit it.
    if comparison["how"] in {"ult", "slt"}:
        turns, rest = turns + (rest > 0), 0
    return turns + extra if turns + extra > 0 and not rest else None
