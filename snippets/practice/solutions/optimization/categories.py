"""Count the operations of a module by category: a solution."""

from collections import Counter

from xla_inspect.hlo import Module, categorise


def count(module: Module) -> dict[str, int]:
    """Return the number of instructions of each category: `{"element-wise": 4, "structure": 7}`."""
    return dict(Counter(categorise(instruction.opcode) for instruction in module.walk()))
