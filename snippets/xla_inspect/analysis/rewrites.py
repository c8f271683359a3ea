"""The outcome for operations that a rewrite could remove: the responsible pass, and the remaining number."""

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

# The names in JAX and StableHLO of operations whose name is not HLO's name with `_` for `-`.
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
    """The stage that removed operations from a program (a pass or an earlier stage), or the fact that they remain.

    Attributes:
        by: The first stage without the operations: `Python` (the jaxpr), `JAX` (the StableHLO), `import` (the imported
            HLO) or the name of a pass; an empty string if the operations remain.
        pipeline: The pipeline of that pass, or an empty string.
        step: The position of the pass in `Capture.passes`, their number for a change after the last of them, or None
            if no pass removed the operations.
        left: The number of operations in the optimized HLO.
    """

    by: str
    pipeline: str
    step: int | None
    left: int

    @property
    def happened(self) -> bool:
        """True if the operations were removed."""
        return bool(self.by)


def find_fate(capture: Capture, opcodes: Collection[str], goal: int) -> Fate:
    """Return the stage after which a program permanently has at most `goal` of some operations, and the final number.

    Operations of a called function count once for each call. Dead operations do not count.

    Args:
        capture: The program on one target.
        opcodes: HLO's names of the operations to count together.
        goal: The number of operations that remain after the rewrite.
    """
    texts = (capture.before, *(step.text for step in capture.passes), capture.after)
    counts = [count_executed(text, opcodes, goal) for text in texts]
    remaining = counts[-1]
    if remaining > goal:
        return Fate("", "", None, remaining)
    # The number may rise and fall several times, so the last pass that reduces it to the goal counts.
    step = max((place for place, number in enumerate(counts) if number > goal), default=None)
    if step is not None:
        # No dump shows a later pass, so the last dumped one stands for a change after it.
        change = capture.passes[min(step, len(capture.passes) - 1)]
        return Fate(change.name, change.pipeline, step, remaining)
    if count_operations(capture.stablehlo, opcodes) > goal:
        return Fate("import", "", None, remaining)
    return Fate("JAX" if count_equations(capture.jaxpr, opcodes) > goal else "Python", "", None, remaining)


def count_executed(text: str, opcodes: Collection[str], enough: int = 0) -> int:
    """Return the number of instructions of some opcodes that a module's result needs, counting callees at each call.

    Args:
        text: The module, as dumped.
        opcodes: HLO's names of the operations to count together.
        enough: A count up to this number need not be exact, so it is taken from the text without parsing.
    """
    occurrences = sum(text.count(f" {opcode}(") for opcode in opcodes)
    # Without calls, each printed instruction counts at most once, so the text gives an upper bound.
    if occurrences <= enough and " call(" not in text:
        return occurrences
    module = parse_module(text)
    return sum(opcode in opcodes for opcode in _run(module, module.entry))


def count_operations(stablehlo: str, opcodes: Collection[str]) -> int:
    """Return the number of operations of some opcodes in a StableHLO module; a called function counts for each call."""
    starts = [*_FUNCTION.finditer(stablehlo)]
    ends = [*(start.start() for start in starts[1:]), len(stablehlo)]
    bodies = {start[1]: stablehlo[start.end() : end] for start, end in zip(starts, ends, strict=True)}
    names = [f"stablehlo.{_OPERATIONS.get(opcode, opcode.replace('-', '_'))} " for opcode in opcodes]

    def count(function: str) -> int:
        body = bodies[function]
        # A called function is counted again for each call, because it runs as often.
        return sum(map(body.count, names)) + sum(count(callees) for callees in _CALL.findall(body))

    return count("main")


def count_equations(jaxpr: str, opcodes: Collection[str]) -> int:
    """Return the number of equations of some opcodes in a jaxpr's text, which prints a shared function once."""
    names = "|".join(_PRIMITIVES.get(opcode, opcode.replace("-", "_")) for opcode in opcodes)
    return len(re.findall(rf" = (?:{names})\b", jaxpr))


def _run(module: Module, computation: Computation) -> Iterator[str]:
    """Yield the opcode of each instruction that a computation's result needs, including callees and fusions."""
    for instruction in search([computation.root], computation.operands):
        yield instruction.opcode
        if instruction.opcode in {"call", "fusion"}:
            for callees in module.called(instruction):
                yield from _run(module, callees)
