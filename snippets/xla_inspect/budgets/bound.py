"""Bounds on measured numbers, read from text such as `<= 14`, `< 9 GiB` or `recorded + 5 %`."""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from xla_inspect.errors import InspectError
from xla_inspect.spelling import list_nearest
from xla_inspect.units import format_amount, format_bytes, format_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

type Unit = Literal["bytes", "flops", "seconds", ""]
"""The unit of a number; an empty string for a count."""

OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
RECORDED = "recorded"
"""The word for the recorded number in a bound."""

_BYTES = {
    "B": 1,
    **{f"{prefix}iB": 1024**power for power, prefix in enumerate("KMGT", 1)},
    # Units with an `i` are powers of 1024, and the others are powers of 1000: a GB is smaller than a GiB.
    **{f"{prefix}B": 1000**power for power, prefix in enumerate("kMGT", 1)},
}
_PREFIXES = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "\N{MICRO SIGN}s": 1e-6, "\N{GREEK SMALL LETTER MU}s": 1e-6, "ns": 1e-9}
__tracebackhide__ = True
_NUMBER = re.compile(r"(?P<number>\d[\d_,]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(?P<unit>[^\W\d_]*%?)")
_BOUND = re.compile(r"(?P<sign><=|>=|==|!=|<|>)?\s*(?P<rest>.*)", re.DOTALL)
_SLACK = re.compile(rf"{RECORDED}(?:\s*\+\s*(?P<slack>.+))?")


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound on a number.

    Attributes:
        sign: One of `OPERATORS`.
        number: The limit; None for the recorded number.
        slack: The amount that is added to the recorded number.
        share: The share of the recorded number that is added to it, such as 0.05 for `recorded + 5 %`.
    """

    sign: str
    number: float | None
    slack: float = 0.0
    share: float = 0.0

    def find_limit(self, recorded: float | None) -> float | None:
        """Return the limit, or None if it depends on a recorded number and there is none."""
        if self.number is not None:
            return self.number
        return None if recorded is None else recorded * (1 + self.share) + self.slack

    def is_kept(self, measured: float, limit: float) -> bool:
        """Return whether a measured number satisfies the bound with the limit that `find_limit` returned."""
        return OPERATORS[self.sign](measured, limit)


def read_amount(value: object, unit: Unit, what: str = "a number") -> float:
    """Return the amount in a number or in text such as `9 GiB` or `1.5 G`, in bytes, flops or as a count.

    Args:
        value: A number of any kind, or text.
        unit: The unit of the amount.
        what: The name of the amount in errors.

    Raises:
        InspectError: The value is neither, is not finite, or is text with an unknown unit or, for bytes, without one.
    """
    if isinstance(value, str):
        return _check_finite(_read_text(value, unit, what), value, what)
    # Most scalars of NumPy and JAX are no instances of `float`, but can be converted to one.
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        message = f"{what} must be a number or text such as {_example(unit)}, not {value!r:.60}"
        raise InspectError(message)
    return _check_finite(float(value), value, what)


def _check_finite(number: float, value: object, what: str) -> float:
    # Every comparison with NaN is false, and nothing exceeds infinity, so such a bound would silently check nothing.
    if not math.isfinite(number):
        message = f"{what} is not a finite number: {value!r:.60}"
        raise InspectError(message)
    return number


def _read_text(text: str, unit: Unit, what: str) -> float:
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        message = f"{what} {text!r:.60} is not a number with a unit; write a number such as {_example(unit)}"
        raise InspectError(message)
    units: Mapping[str, float] = {"bytes": _BYTES, "seconds": _SECONDS}.get(unit, _PREFIXES)
    unit_name = match["unit"]
    # A plain number in text is ambiguous (bytes or MiB, seconds or ms), so it is rejected.
    if unit in {"bytes", "seconds"} and not unit_name:
        example = f"{text.strip()} {'MiB' if unit == 'bytes' else 'ms'}"
        message = f"{what} {text!r} has no unit; add a unit of {unit}, as in {example}, or use a plain number"
        raise InspectError(message)
    if unit_name not in units:
        near = list_nearest(unit_name, units, likeness=0.3)
        unit_names = ", ".join(filter(None, units))
        hint = f", did you mean {near[0]!r}?" if near else "."
        message = (
            f"{what} {text!r}: {unit_name!r} is not a unit of {unit or 'a count'}{hint} The units are {unit_names}"
        )
        raise InspectError(message)
    return float(re.sub("[_,]", "", match["number"])) * units[unit_name]


def read_bound(value: object, unit: Unit, what: str) -> Bound:
    """Return the bound that a number or text describes; a number without a sign is an upper limit.

    Args:
        value: A number, or text such as `<= 14`, `< 9 GiB`, `recorded` or `recorded + 5 %`.
        unit: The unit of the number.
        what: The name of the bound in errors.

    Raises:
        InspectError: The value is not a bound.
    """
    if not isinstance(value, str):
        return Bound("<=", read_amount(value, unit, what))
    match = _BOUND.fullmatch(value.strip())
    # A budget limits growth, so a bound without a sign is an upper limit.
    sign, rest = (match["sign"] or "<=", match["rest"]) if match else ("<=", value)
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
    """Return a number as text in its unit, such as `9 GiB`, `1.5 G flops` or `1,024`."""
    if unit == "bytes":
        # A difference of two sizes may be negative, which `format_bytes` does not accept.
        return format_bytes(int(number)) if number >= 0 else f"-{format_bytes(int(-number))}"
    if unit == "flops":
        return f"{format_amount(number)} flops"
    if unit == "seconds":
        return format_seconds(number)
    return f"{number:,.0f}" if number == int(number) else f"{number:g}"


def _example(unit: Unit) -> str:
    return {"bytes": "'9 GiB'", "flops": "'1.5 G'", "seconds": "'10 s'"}.get(unit, "14")
