"""Inference of the shapes that HLO text omits, from the operands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.hlo.opcodes import categorise
from xla_inspect.hlo.shape import ShapeProblemError, read_shape
from xla_inspect.hlo.shape_rules import RULES, Question, combine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_TAKES_FIRST = frozenset({
    "add-dependency", "batch-norm-inference", "bitcast", "cholesky", "copy", "domain", "opt-barrier", "reverse",
    "select-and-scatter", "while",
})  # fmt: skip
"""Opcodes whose result has the shape of their first operand, including its layout."""
# The new element type of these opcodes is only in the written shape, so the operands cannot give it.
_NEEDS_SHAPE = frozenset({"bitcast-convert", "convert", "reduce-precision", "stochastic-convert"})


def infer_shape(
    opcode: str,
    operands: Sequence[tuple[str, tuple[int, ...]]],
    attributes: Mapping[str, str],
    find_result: Callable[[str], str],
) -> str:
    """Return the shape of an instruction's result as text, with a layout only if it follows from that of an operand.

    Args:
        opcode: The opcode of the instruction.
        operands: The shapes of its operands as text, each with the index of the tuple element that it selects, or ().
        attributes: The attributes of the instruction.
        find_result: A function that returns the shape of the result of a computation, given by name.

    Raises:
        ValueError: The shape does not follow from these arguments.
    """
    try:
        shapes = tuple(read_shape(text).at(index) for text, index in operands)
        question = Question(opcode, shapes, attributes, find_result)
        if rule := RULES.get(opcode):
            return rule(question)
        if opcode in _TAKES_FIRST:
            return shapes[0].text
        if categorise(opcode) == "element-wise" and opcode not in _NEEDS_SHAPE:
            return combine(question)
    # A rule may fail in any of these ways on malformed operands, which all mean that the shape cannot be inferred.
    except (ArithmeticError, LookupError, ShapeProblemError, StopIteration, ValueError):
        pass
    message = f"the operands of {opcode} do not tell it"
    raise ValueError(message)
