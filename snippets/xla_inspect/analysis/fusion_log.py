"""The log of the GPU compiler's fusion pass as data: fusions, time estimates and refusals with their reasons."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xla_inspect.errors import HloSyntaxError

if TYPE_CHECKING:
    from collections.abc import Iterable

_FUSED = re.compile(r"fused (\S+) into (\S+) as (\S+)")
_ESTIMATE = re.compile(r"(\S+) into (.+): (-?[\d.e+-]+) us fused, (-?[\d.e+-]+) us apart")
_REFUSAL = re.compile(r"(\S+) (?:stays|not into (\S+)): (.+)")


@dataclass(frozen=True, slots=True)
class Merge:
    """A fusion that the pass made.

    Attributes:
        producer: The name of the instruction that was fused.
        consumer: The name of the instruction that it was fused into.
        name: The name of the resulting fusion; a consumer that is already a fusion keeps its name.
    """

    producer: str
    consumer: str
    name: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """The cost model's estimate for fusing a producer into all of its consumers.

    Attributes:
        producer: The name of the instruction to fuse.
        consumers: The names of the instructions that read it.
        fused: Microseconds if each consumer recomputes the producer.
        apart: Microseconds if the producer is a separate kernel.
    """

    producer: str
    consumers: tuple[str, ...]
    fused: float
    apart: float

    @property
    def gain(self) -> float:
        """The expected savings of fusing in microseconds; negative if fusing costs time."""
        return self.apart - self.fused


@dataclass(frozen=True, slots=True)
class Refusal:
    """A producer that the pass did not fuse, for a reason other than cost that the log states.

    Attributes:
        producer: The name of the instruction that was not fused.
        consumer: The one user that it was not fused into, or None if the reason applies to all users.
        reason: The reason in the pass's own words.
    """

    producer: str
    consumer: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class FusionLog:
    """The steps of the `priority-fusion` pass by kind, each kind in the order of the text."""

    merges: tuple[Merge, ...]
    estimates: tuple[Estimate, ...]
    refusals: tuple[Refusal, ...]

    def refused(self, producer: str) -> tuple[str, ...]:
        """Return the reasons why a producer was not fused, without duplicates."""
        return tuple(dict.fromkeys(refusal.reason for refusal in self.refusals if refusal.producer == producer))

    @property
    def reasons(self) -> tuple[str, ...]:
        """The sorted reasons in the log, without duplicates."""
        return tuple(sorted({refusal.reason for refusal in self.refusals}))


def parse_log(lines: Iterable[str]) -> FusionLog:
    """Parse the lines of `Capture.fusion_log`; times are the cost model's estimates in microseconds.

    A producer may occur several times: each fusion changes the operands of its neighbors, so the pass estimates them
    again.

    Raises:
        HloSyntaxError: A line has an unknown form.
    """
    merges: list[Merge] = []
    estimates: list[Estimate] = []
    refusals: list[Refusal] = []
    for number, line in enumerate(lines, 1):
        if match := _FUSED.fullmatch(line):
            merges.append(Merge(*match.groups()))
        elif match := _ESTIMATE.fullmatch(line):
            # The cost model estimates one producer together with all of its consumers.
            producer, consumers, fused, apart = match.groups()
            estimates.append(Estimate(producer, tuple(consumers.split(", ")), float(fused), float(apart)))
        elif match := _REFUSAL.fullmatch(line):
            refusals.append(Refusal(*match.groups()))
        else:
            message = f"expected a step of the fusion log, found {line[:60]!r}"
            raise HloSyntaxError(message, number, 1)
    return FusionLog(tuple(merges), tuple(estimates), tuple(refusals))
