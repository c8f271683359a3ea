"""A measured number of a compiled program, whose comparisons must be asserted."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, ClassVar

from xla_inspect.budgets.bound import OPERATORS, read_amount, show_amount
from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Callable

    from xla_inspect.budgets.assertion_log import AssertionLog
    from xla_inspect.budgets.bound import Unit


__tracebackhide__ = True
_OWN = ("xla_inspect.", "pytest_xla_inspect")


def _comparing(sign: str) -> Callable[[Quantity, object], Verdict]:
    """Return the comparison method of `Quantity` for a sign, which returns a `Verdict` and logs it."""

    def compare(self: Quantity, other: object) -> Verdict:
        verdict = Verdict(self, sign, other, self.log)
        if self.log is not None:
            self.log.note_use(self)
            # The other side may be a measured number too, which this comparison uses as well.
            self.log.note_use(other)
            self.log.note_made(verdict, find_caller())
        return verdict

    return compare


class Quantity:
    """A measured number that can be compared with numbers and with text such as `9 GiB`.

    Args:
        name: The name of the number, such as `peak`.
        number: The amount.
        unit: The unit of the amount.
        of: The measured program, such as `step on NVIDIA H100`.
        detail: A text in parentheses after the amount, such as the range of an estimate, or an empty string.
        is_least: Whether a part is not known, so that the amount is at least this one.
        explain: Returns the explanation of the number for a violated sign and limit.
        log: The log of comparisons, or None.
    """

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # it equals numbers, and compares with text
    # Otherwise NumPy's scalars would convert this object to a float, and the comparison would not be recorded.
    __array_ufunc__ = None
    """Make NumPy's numbers leave comparisons to this class."""

    def __init__(  # noqa: PLR0913 - each argument is an attribute
        self,
        name: str,
        number: float,
        unit: Unit,
        *,
        of: str,
        detail: str = "",
        is_least: bool = False,
        explain: Callable[[str, float], str],
        log: AssertionLog | None = None,
    ) -> None:
        """Record the number as not yet compared."""
        self.name, self.number, self.unit, self.of, self._is_least = name, number, unit, of, is_least
        self._explain, self.log, self._detail = explain, log, f" ({detail})" if detail else ""
        if log is not None:
            log.note_made(self, find_caller())

    @property
    def forgotten(self) -> str:
        """The message about a test that reads the number and does not compare it."""
        return f"{self.name} of {self.of} was read but not compared with anything"

    __lt__, __le__, __gt__, __ge__ = map(_comparing, ("<", "<=", ">", ">="))
    __eq__, __ne__ = map(_comparing, ("==", "!="))  # type: ignore[assignment]  # they give a verdict

    def __bool__(self) -> bool:
        """Raise an error, because asserting a number without a bound checks nothing.

        Raises:
            TypeError: Always.
        """
        example = f"assert step.{self.name} <= {show_amount(self.number, self.unit)}"
        message = f"{self.name} is {self}: compare it with something, as in `{example}`"
        raise TypeError(message)

    def __int__(self) -> int:
        """Return the number as an int, rounded towards zero, and count it as used."""
        return int(float(self))

    def __float__(self) -> float:
        """Return the number as a float, and count it as used."""
        if self.log is not None:
            self.log.note_use(self)
        return float(self.number)

    def __str__(self) -> str:
        """Return the number as text in its unit, with the range of an estimate, and count it as used."""
        if self.log is not None:
            self.log.note_use(self)
        return show_amount(self.number, self.unit) + self._detail

    def __repr__(self) -> str:
        """Return the name, the program and the number in its unit, and count the number as used."""
        return f"<{self.name} of {self.of}: {self}>"

    def require_known(self, sign: str, limit: float) -> None:
        """Do nothing if the known part of the number decides a comparison.

        Raises:
            InspectError: The result depends on the part that is not known.
        """
        is_decided = self.number > limit or (self.number == limit and sign in {"<", ">="})
        if self._is_least and not is_decided:
            bound = f"{sign} {show_amount(limit, self.unit)}"
            message = (
                f"{self.name} of {self.of} is not known in full: the known part is {self}, so {bound} can be neither "
                "confirmed nor rejected"
            )
            raise InspectError(message)

    def explain(self, sign: str, limit: float) -> str:
        """Return the lines that explain a failed comparison: both numbers with their difference, and the causes."""
        bound, measured = show_amount(limit, self.unit), show_amount(self.number, self.unit)
        # Rounded to a unit, both numbers may look the same; the message then shows all of their digits.
        if bound == measured:
            bound, measured = f"{limit:,.0f}", f"{self.number:,.0f}"
        by = self.number - limit
        over = f" ({show_amount(abs(by), self.unit)} too {'much' if by > 0 else 'little'})" if by else ""
        comparison = f"{self.name} of {self.of} is {measured}{self._detail}, but must be {sign} {bound}{over}"
        return "\n".join(filter(None, (comparison, self._explain(sign, limit))))


class Verdict:
    """The result of a comparison, for `assert`; a comparison that is never asserted is reported after the test.

    Args:
        quantity: The measured number.
        sign: One of `OPERATORS`.
        other: The other side: another quantity, a number or text.
        log: The log of assertions, or None.
    """

    def __init__(self, quantity: Quantity, sign: str, other: object, log: AssertionLog | None = None) -> None:
        """Compare the number with the other side."""
        self.quantity, self.sign, self._log = quantity, sign, log
        if isinstance(other, Quantity):
            # The unknown parts of two programs may be the same, so the known parts are compared.
            self.limit = other.number
        else:
            self.limit = read_amount(other, quantity.unit, quantity.name)
            quantity.require_known(sign, self.limit)
        self.holds = bool(OPERATORS[sign](quantity.number, self.limit))

    @property
    def forgotten(self) -> str:
        """The message about a test that makes the comparison and does not assert it."""
        return f"{self!r} was compared and not asserted; write assert in front of it"

    def __bool__(self) -> bool:
        """Return whether the comparison holds, and count it as asserted."""
        if self._log is not None:
            self._log.note_asserted(self)
        return self.holds

    def __repr__(self) -> str:
        """Return the comparison and its result."""
        unit = self.quantity.unit
        comparison = f"{show_amount(self.quantity.number, unit)} {self.sign} {show_amount(self.limit, unit)}"
        return f"<{self.quantity.name}: {comparison} {'holds' if self.holds else 'does not hold'}>"

    def explain(self) -> str:
        """Return the lines that explain a comparison that does not hold."""
        return self.quantity.explain(self.sign, self.limit)


def find_caller() -> str:
    """Return the nearest calling line outside of this package, as FILE:LINE, or an empty string."""
    # A frame is much cheaper than a whole stack trace, and every comparison looks up its caller.
    frame = sys._getframe(1)  # noqa: SLF001 - documented
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(_OWN):
        frame = frame.f_back  # type: ignore[assignment]  # None at the end
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else ""
