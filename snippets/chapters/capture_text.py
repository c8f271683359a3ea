"""Short facts about a capture: counts over the texts that JAX prints, and the names of its kernels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xla_inspect.analysis import list_kernels

if TYPE_CHECKING:
    from xla_inspect.captured import Capture

# JAX prints the results of an equation with their types, as in `a:f32[8] = exp b`, and the first one follows `let`.
_EQUATION = re.compile(r"^\s+(?:let )?\s*\S+:\S+(?: \S+:\S+)* = ", re.MULTILINE)
# MLIR prints an operation in a short form or, in quotes, in its generic form, and some operations have no result.
_OPERATION = re.compile(
    r"^\s+(?:%\S+(?:, %\S+)* = )?\"?((?:stablehlo|chlo|func|sdy)\.[\w.]+|call|return)\b", re.MULTILINE
)
# Functions and their returns compute nothing, so they do not count.
_STRUCTURE = {"func.func", "func.return", "return", "stablehlo.return"}


def count_printed_equations(jaxpr: str) -> int:
    """Return the number of equations in a printed jaxpr, including inner jaxprs, counted as often as printed."""
    return len(_EQUATION.findall(jaxpr))


def count_printed_operations(stablehlo: str) -> int:
    """Return the number of operations in a printed StableHLO module, with calls and without functions and returns.

    In the short form of a reduction, the operation after `applies` is counted too.
    """
    return sum(name not in _STRUCTURE for name in _OPERATION.findall(stablehlo)) + stablehlo.count(" applies ")


def name_kernels(capture: Capture) -> str:
    """Return the names of the kernels, in order, as in `fusion.1, then fusion.2`."""
    return ", then ".join(kernel.name for kernel in list_kernels(capture))
