"""The fate of operations that a rewrite could remove: the responsible pass, and the remaining number."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.analysis.value_flow import search
from xla_inspect.hlo import parse_module

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Computation, Module

# What JAX and StableHLO call an operation where that is not HLO's name with `_` for `-`.
_PRIMITIVES = {
    "dot": "dot_general",
    "convolution": "conv_general_dilated",
    "broadcast": "broadcast_in_dim",
    "multiply": "mul",
    "subtract": "sub",
    "maximum": "max",
    "negate": "neg",
}
_OPERATIONS = {"dot": "dot_general", "broadcast": "broadcast_in_dim"}
_FUNCTION = re.compile(r"^ *func\.func .*?@(\w+)\(", re.MULTILINE)
_CALL = re.compile(r"\bcall @(\w+)\(")


@dataclass(frozen=True, slots=True)
class Fate:
    """The removal of operations from a program by a pass, or its absence.

    Attributes:
        by: `Python` (the jaxpr has them no more), `JAX` (StableHLO has not), `import` (the HLO that the compiler got
            has not), the name of a pass, or an empty string when they were kept.
        pipeline: The pipeline of that pass, else an empty string.
        step: The pass's place in `Capture.passes`, or None when it was no pass.
        left: The number of operations in the optimized HLO.
    """

    by: str
    pipeline: str
    step: int | None
    left: int

    @property
    def happened(self) -> bool:
        """Whether the operations were removed."""
        return bool(self.by)


def find_fate(capture: Capture, opcodes: Collection[str], goal: int) -> Fate:
    """Find the first stage after which a program permanently has at most `goal` operations.

    What a call runs counts each time it is called, so two calls of one function hold its operations twice; what
    nothing needs any more, and waits to be swept away, does not count.

    Args:
        capture: The program on one target.
        opcodes: HLO's names of the operations to count together.
        goal: The number of operations that remain after the rewrite.
    """
    texts = (capture.before, *(step.text for step in capture.passes), capture.after)
    counts = [count_executed(text, opcodes, goal) for text in texts]
    left = counts[-1]
    if left > goal:
        return Fate("", "", None, left)
    # A pass after which there are too many does not spoil what a later one mends: the last that mends it counts.
    step = max((place for place, number in enumerate(counts) if number > goal), default=None)
    if step is not None:
        change = capture.passes[min(step, len(capture.passes) - 1)]
        return Fate(change.name, change.pipeline, step, left)
    if count_operations(capture.stablehlo, opcodes) > goal:
        return Fate("import", "", None, left)
    return Fate("JAX" if count_equations(capture.jaxpr, opcodes) > goal else "Python", "", None, left)


def count_executed(text: str, opcodes: Collection[str], enough: int = 0) -> int:
    """Return how many instructions of some opcodes a module's result needs, those of a call at each call.

    Args:
        text: The module, as dumped.
        opcodes: HLO's names of the operations to count together.
        enough: A count up to this need not be exact: it is taken from the text, without parsing it.
    """
    written = sum(text.count(f" {opcode}(") for opcode in opcodes)
    if written <= enough and " call(" not in text:
        return written
    module = parse_module(text)
    return sum(opcode in opcodes for opcode in _run(module, module.entry))


def count_operations(stablehlo: str, opcodes: Collection[str]) -> int:
    """Return how many operations of some opcodes a StableHLO module runs, those of a call at each call."""
    starts = [*_FUNCTION.finditer(stablehlo)]
    ends = [*(start.start() for start in starts[1:]), len(stablehlo)]
    bodies = {start[1]: stablehlo[start.end() : end] for start, end in zip(starts, ends, strict=True)}
    names = [f"stablehlo.{_OPERATIONS.get(opcode, opcode.replace('-', '_'))} " for opcode in opcodes]

    def count(function: str) -> int:
        body = bodies[function]
        return sum(map(body.count, names)) + sum(count(callees) for callees in _CALL.findall(body))

    return count("main")


def count_equations(jaxpr: str, opcodes: Collection[str]) -> int:
    """Return how many equations of some opcodes a jaxpr prints; a function that is shared is printed once."""
    names = "|".join(_PRIMITIVES.get(opcode, opcode.replace("-", "_")) for opcode in opcodes)
    return len(re.findall(rf" = (?:{names})\b", jaxpr))


def _run(module: Module, computation: Computation) -> Iterator[str]:
    """Return the opcodes that a computation's result needs, with callees and fusions replaced by their contents."""
    for instruction in search([computation.root], computation.operands):
        yield instruction.opcode
        if instruction.opcode in {"call", "fusion"}:
            for callees in module.called(instruction):
                yield from _run(module, callees)
