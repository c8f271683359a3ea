"""Shapes that HLO text leaves out, worked out from the operands."""

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
"""Opcodes whose result has the shape of their first operand, layout included."""
_NEEDS_SHAPE = frozenset({"bitcast-convert", "convert", "reduce-precision", "stochastic-convert"})


def infer_shape(
    opcode: str,
    operands: Sequence[tuple[str, tuple[int, ...]]],
    attributes: Mapping[str, str],
    called: Callable[[str], str],
) -> str:
    """Return the shape of an instruction, as text; without a layout where that is the default one.

    Args:
        opcode: Its opcode.
        operands: The shapes of its operands, and the elements that are picked from them.
        attributes: Its attributes.
        called: Gives the shape of the result of a computation.

    Raises:
        ValueError: The shape does not follow from these.
    """
    try:
        shapes = tuple(read_shape(text).at(index) for text, index in operands)
        question = Question(opcode, shapes, attributes, called)
        if rule := RULES.get(opcode):
            return rule(question)
        if opcode in _TAKES_FIRST:
            return shapes[0].text
        if categorise(opcode) == "element-wise" and opcode not in _NEEDS_SHAPE:
            return combine(question)
    except (ArithmeticError, LookupError, ShapeProblemError, StopIteration, ValueError):
        pass
    message = f"the operands of {opcode} do not tell it"
    raise ValueError(message)
