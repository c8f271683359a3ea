"""A time in seconds with its range."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated time.

    Attributes:
        low: The seconds of the most optimistic model.
        likely: The seconds of the model that fits the measured times best.
        high: The seconds of the most pessimistic model.
        is_least: Whether the operations of a part are not known, so that it takes at least the time of the rest.
    """

    low: float = 0.0
    likely: float = 0.0
    high: float = 0.0
    is_least: bool = field(default=False, kw_only=True)

    @classmethod
    def at_shares(cls, seconds: float, shares: tuple[float, float, float]) -> Estimate:
        """Return the estimated time of some work, with its range.

        Args:
            seconds: The time at the peak rate.
            shares: The shares of the peak rate that the work reaches in the best, the likely and the worst case.
        """
        return cls(*(seconds / share for share in shares))

    def longer(self, other: Estimate) -> Estimate:
        """Return the maximum of two estimates, separately for the low, the likely and the high time."""
        ends = max(self.low, other.low), max(self.likely, other.likely), max(self.high, other.high)
        return Estimate(*ends, is_least=self.is_least or other.is_least)

    def __add__(self, other: Estimate) -> Estimate:
        """Return the sum, whose range assumes that both estimates are wrong in the same direction."""
        ends = self.low + other.low, self.likely + other.likely, self.high + other.high
        return Estimate(*ends, is_least=self.is_least or other.is_least)

    def __mul__(self, times: float | Estimate) -> Estimate:
        """Return the time of that many runs, or that with a factor that has a range itself."""
        factor = times if isinstance(times, Estimate) else Estimate(times, times, times)
        ends = self.low * factor.low, self.likely * factor.likely, self.high * factor.high
        return Estimate(*ends, is_least=self.is_least or factor.is_least)

    def may_be(self, seconds: float) -> bool:
        """Return whether a time is in the range, which has no upper end if the time of a part is not known."""
        return self.low <= seconds and (self.is_least or seconds <= self.high)


class RangedTime:
    """A part of an answer that writes a time to JSON as four fields, so that none of them is nested."""

    seconds: float | None
    low_seconds: float
    high_seconds: float
    is_least: bool

    @property
    def time(self) -> Estimate:
        """The time with its range; zero without an estimate."""
        return Estimate(self.low_seconds, self.seconds or 0.0, self.high_seconds, is_least=self.is_least)
