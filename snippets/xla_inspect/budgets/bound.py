"""What a number may be: `<= 14`, `< 9 GiB`, `recorded + 5 %`; read from text, and held against what was measured."""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from xla_inspect.errors import InspectError
from xla_inspect.spelling import list_nearest
from xla_inspect.units import format_amount, format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

type Unit = Literal["bytes", "flops", ""]
"""What a number counts; an empty string for pieces."""

OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
RECORDED = "recorded"
"""What stands for the number that was recorded."""

_BYTES = {
    "B": 1,
    **{f"{prefix}iB": 1024**power for power, prefix in enumerate("KMGT", 1)},
    **{f"{prefix}B": 1000**power for power, prefix in enumerate("kMGT", 1)},
}
_PREFIXES = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
__tracebackhide__ = True
_NUMBER = re.compile(r"(?P<number>\d[\d_,]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(?P<unit>[a-zA-Z%]*)")
_BOUND = re.compile(r"(?P<sign><=|>=|==|!=|<|>)?\s*(?P<rest>.*)", re.DOTALL)
_SLACK = re.compile(rf"{RECORDED}(?:\s*\+\s*(?P<slack>.+))?")


@dataclass(frozen=True, slots=True)
class Bound:
    """What a number may be.

    Attributes:
        sign: One of `OPERATORS`.
        number: What it is compared with; None for what was recorded.
        slack: How much may be added to what was recorded.
        share: How much likewise, as a share of it.
    """

    sign: str
    number: float | None
    slack: float = 0.0
    share: float = 0.0

    def find_limit(self, recorded: float | None) -> float | None:
        """Return what a number is compared with, or None where that is what was recorded, and nothing was."""
        if self.number is not None:
            return self.number
        return None if recorded is None else recorded * (1 + self.share) + self.slack

    def is_kept(self, measured: float, limit: float) -> bool:
        """Return whether a number may be what it is."""
        return OPERATORS[self.sign](measured, limit)


def read_amount(given: object, unit: Unit, what: str = "a number") -> float:
    """Return a number that is given as one or as text, such as `9 GiB` or `1.5 G`.

    Args:
        given: A number of any kind, or text.
        unit: What it counts.
        what: What errors call it.

    Raises:
        InspectError: It is neither, or its unit is another or none that is known.
    """
    if isinstance(given, str):
        return _check_finite(_read_text(given, unit, what), given, what)
    if isinstance(given, bool) or not hasattr(given, "__float__"):
        message = f"{what} is a number or text such as {_example(unit)}, and not {given!r:.60}"
        raise InspectError(message)
    return _check_finite(float(given), given, what)


def _check_finite(number: float, given: object, what: str) -> float:
    if not math.isfinite(number):
        message = f"{what} is no number that anything can be: {given!r:.60}"
        raise InspectError(message)
    return number


def _read_text(text: str, unit: Unit, what: str) -> float:
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        message = f"{what} {text!r:.60} is no number with a unit; write one such as {_example(unit)}"
        raise InspectError(message)
    units: Mapping[str, float] = _BYTES if unit == "bytes" else _PREFIXES
    given = match["unit"]
    if unit == "bytes" and not given:
        message = f"{what} {text!r} has no unit; write one of bytes behind it, such as {text.strip()} MiB, or a number"
        raise InspectError(message)
    if given not in units:
        near = list_nearest(given, units, likeness=0.3)
        known = ", ".join(filter(None, units))
        meant = f", did you mean {near[0]!r}?" if near else "."
        message = f"{what} {text!r}: {given!r} is no unit of {unit or 'a count'}{meant} There are {known}"
        raise InspectError(message)
    return float(re.sub("[_,]", "", match["number"])) * units[given]


def read_bound(given: object, unit: Unit, what: str) -> Bound:
    """Return the bound that a number or text says; a bare one is the most that may be.

    Args:
        given: A number, or text such as `<= 14`, `< 9 GiB`, `recorded` or `recorded + 5 %`.
        unit: What the number counts.
        what: What errors call it.

    Raises:
        InspectError: It says none.
    """
    if not isinstance(given, str):
        return Bound("<=", read_amount(given, unit, what))
    match = _BOUND.fullmatch(given.strip())
    sign, rest = (match["sign"] or "<=", match["rest"]) if match else ("<=", given)
    if slack := _SLACK.fullmatch(rest.strip()):
        return _read_slack(sign, slack["slack"], unit, what)
    return Bound(sign, read_amount(rest, unit, what))


def _read_slack(sign: str, text: str | None, unit: Unit, what: str) -> Bound:
    if text is None:
        return Bound(sign, None)
    share = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", text.strip())
    if share:
        return Bound(sign, None, share=float(share[1]) / 100)
    return Bound(sign, None, slack=read_amount(text, unit, what))


def show_amount(number: float, unit: Unit) -> str:
    """Return a number in its unit."""
    if unit == "bytes":
        return format_bytes(int(number)) if number >= 0 else f"-{format_bytes(int(-number))}"
    if unit == "flops":
        return f"{format_amount(number)} flops"
    return f"{number:,.0f}" if number == int(number) else f"{number:g}"


def _example(unit: Unit) -> str:
    return {"bytes": "'9 GiB'", "flops": "'1.5 G'"}.get(unit, "14")
