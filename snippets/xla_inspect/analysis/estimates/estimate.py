"""A time in seconds with its range."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated time.

    Attributes:
        low: The seconds of the most optimistic model.
        likely: The seconds of the model that fits the measured times best.
        high: The seconds of the most pessimistic model.
    """

    low: float = 0.0
    likely: float = 0.0
    high: float = 0.0

    @classmethod
    def at_shares(cls, seconds: float, shares: tuple[float, float, float]) -> Estimate:
        """Return the time of work from its seconds at a peak rate, of which it reaches shares from best to worst."""
        return cls(*(seconds / share for share in shares))

    def longer(self, other: Estimate) -> Estimate:
        """Return the maximum of two estimates, separately for the low, the likely and the high time."""
        return Estimate(max(self.low, other.low), max(self.likely, other.likely), max(self.high, other.high))

    def __add__(self, other: Estimate) -> Estimate:
        """Return the sum, whose range assumes that both estimates are wrong in the same direction."""
        return Estimate(self.low + other.low, self.likely + other.likely, self.high + other.high)

    def __mul__(self, times: float | Estimate) -> Estimate:
        """Return the time of that many runs, or that with a factor that has a range itself."""
        factor = times if isinstance(times, Estimate) else Estimate(times, times, times)
        return Estimate(self.low * factor.low, self.likely * factor.likely, self.high * factor.high)


class RangedTime:
    """A part of an answer whose time and range are three fields in JSON."""

    seconds: float | None
    low_seconds: float
    high_seconds: float

    @property
    def time(self) -> Estimate:
        """The time with its range; zero without an estimate."""
        return Estimate(self.low_seconds, self.seconds or 0.0, self.high_seconds)
