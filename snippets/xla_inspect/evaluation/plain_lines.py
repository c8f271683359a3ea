"""The lines of a rewritten computation, with new names for intermediate values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xla_inspect.errors import InspectError
from xla_inspect.hlo import BITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ORDER = ".in_order."
"""The mark in the names of the values that `order_transposes` adds."""

_TRANSPOSE = re.compile(r"%(\S+) = (\w+)(\[\d+,\S+\]) (transpose\(.*)")


class UnknownOperationError(InspectError):
    """The error for an operation whose meaning is not known here."""


class PlainLines:
    """The lines of a computation as HLO text without layouts.

    Attributes:
        lines: The lines so far, without `ROOT`.
        name: The name of the original instruction that is rewritten now.
    """

    def __init__(self) -> None:
        """Start without lines."""
        self.lines: list[str] = []
        self.name = ""
        self._steps = 0

    def begin(self, name: str) -> None:
        """Start to rewrite an instruction, whose name the names of new intermediate values contain."""
        self.name, self._steps = name, 0

    def add(self, shape: str, operation: str) -> str:
        """Add an intermediate operation, and return the name of its result with `%`."""
        self._steps += 1
        self.lines.append(f"%{self.name}.step{self._steps} = {shape} {operation}")
        return f"%{self.name}.step{self._steps}"

    def fill(self, dtype: str, sizes: str, number: float = 0) -> str:
        """Add an array of equal numbers, and return its name; `sizes` is a text such as `[4,8]`."""
        scalar = self.add(f"{dtype}[]", f"constant({number})")
        return self.add(dtype + sizes, f"broadcast({scalar}), dimensions={{}}") if sizes != "[]" else scalar

    def end(self, shape: str, operation: str) -> None:
        """Add the operation whose result has the name of the original instruction."""
        self.lines.append(f"%{self.name} = {shape} {operation}")


def join(numbers: Iterable[int]) -> str:
    """Return numbers separated by commas."""
    return ",".join(map(str, numbers))


def order_transposes(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines in which the result of each transpose lies in memory in the order of its dimensions.

    XLA's import of a transpose only changes the layout, and most operations keep that of their first operand. Where no
    pass assigns layouts, such a value would be read in the wrong order. So its bits are joined with zeros, which XLA
    must not recognize as such.
    """
    for line in lines:
        match = _TRANSPOSE.fullmatch(line)
        if match is None:
            yield line
            continue
        name, dtype, sizes, transpose = match.groups()
        yield f"%{name}{ORDER}moved = {dtype}{sizes} {transpose}"
        if dtype.startswith("c"):
            part = f"f{BITS[dtype] // 2}{sizes}"
            for half in ("real", "imag"):
                yield f"%{name}.{half}{ORDER}moved = {part} {half}(%{name}{ORDER}moved)"
                yield from _join_zeros(f"{name}.{half}", part.removesuffix(sizes), sizes)
            yield f"%{name} = {dtype}{sizes} complex(%{name}.real, %{name}.imag)"
        else:
            yield from _join_zeros(name, dtype, sizes)


def _join_zeros(name: str, dtype: str, sizes: str) -> Iterator[str]:
    number, change = f"u{BITS[dtype]}", "convert" if dtype == "pred" else "bitcast-convert"
    yield f"%{name}{ORDER}zero = {number}[] constant(0)"
    yield f"%{name}{ORDER}fill = {number}{sizes} broadcast(%{name}{ORDER}zero), dimensions={{}}"
    yield f"%{name}{ORDER}count = {number}{sizes} iota(), iota_dimension=0"
    yield f"%{name}{ORDER}zeros = {number}{sizes} minimum(%{name}{ORDER}count, %{name}{ORDER}fill)"
    yield f"%{name}{ORDER}bits = {number}{sizes} {change}(%{name}{ORDER}moved)"
    yield f"%{name}{ORDER}joined = {number}{sizes} or(%{name}{ORDER}zeros, %{name}{ORDER}bits)"
    yield f"%{name} = {dtype}{sizes} {change}(%{name}{ORDER}joined)"
