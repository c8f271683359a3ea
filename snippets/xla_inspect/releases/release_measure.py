"""The measurements of a program with one release, by question, and the comparison of two releases' answers."""

from __future__ import annotations

import math
import operator
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from xla_inspect.analysis import UNREADABLE, CodeSummary, list_collectives, list_launches, summarize_code

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xla_inspect.captured import Capture
    from xla_inspect.hlo import Module


@dataclass(frozen=True)
class ReleaseMeasure:
    """The measurements of a program with one release.

    Attributes:
        version: The release of JAX.
        versions: The versions of the packages that compiled it, by name.
        failed: The reason that there is nothing to compare, or an empty string.
        refused: The compiler's error message or the description of its crash, or an empty string.
        place: The line of the user's file that failed to load or trace with the release, or an empty string.
        values: The answers by question; a question that the release cannot answer is absent.
        notes: Further remarks, such as compiler options that the release does not know.
    """

    version: str
    versions: Mapping[str, str] = field(default_factory=dict)
    failed: str = ""
    refused: str = ""
    place: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """A question that is answered for each release.

    Attributes:
        name: Its name on the command line.
        title: The header of its column.
        distance: Returns the distance between two values.
        least: The smallest distance at which two values differ.
        count: Counts the quantity in a module, if the question also applies to single stages.
    """

    name: str
    title: str
    distance: Callable[[Any, Any], float]
    least: float
    count: Callable[[Module], Counter[str]] | None = None

    def differs(self, first: ReleaseMeasure, second: ReleaseMeasure) -> bool:
        """Return whether the answers of two releases differ; a missing answer does not differ."""
        if self.name not in first.values or self.name not in second.values:
            return False
        return self.distance(first.values[self.name], second.values[self.name]) >= self.least

    def is_nearer(self, measure: ReleaseMeasure, first: ReleaseMeasure, second: ReleaseMeasure) -> bool | None:
        """Return whether a release's answer is nearer to the first than to the second; None without one.

        If it is as far from both, as a hash may be, the answer had already changed.
        """
        if self.name not in measure.values:
            return None
        value = measure.values[self.name]
        return self.distance(value, first.values[self.name]) < self.distance(value, second.values[self.name])


def measure_ratio(first: float, second: float, noise: float = 0) -> float:
    """Return the ratio of the larger to the smaller number, minus one, after adding the noise to both."""
    # Added noise makes the ratio of two small numbers small.
    low, high = sorted((first + noise, second + noise))
    return high / low - 1 if low > 0 else math.inf if high > 0 else 0.0


_NOISE = 1024
"""Bytes that a compiler reserves for itself, such as loop counters; smaller differences do not matter."""

_JITTER = 0.5
"""The random variation of a compile's duration in seconds."""


def _count_apart(first: Counter[str], second: Counter[str]) -> float:
    return float(((first - second) + (second - first)).total())


def count_kernels(module: Module) -> Counter[str]:
    """Return the number of kernels in a module, by sort."""
    return Counter(launch.sort for launch in list_launches(module) if launch.role == "kernel")


def count_copies(module: Module) -> Counter[str]:
    """Return the number of launched copies inside loops, by the shape of the copied value."""
    copies = (launch for launch in list_launches(module) if launch.role == "copy" and launch.within)
    return Counter(launch.instruction.shape.text for launch in copies)


def count_collectives(module: Module) -> Counter[str]:
    """Return the number of collectives in a module, by kind and bytes per device."""
    return Counter(f"{collective.kind} of {collective.operand_bytes} bytes" for collective in list_collectives(module))


REWRITTEN = 0.5
"""The share of weighted operations from which code counts as different, unless the question is about code: compilers
often arrange the same work slightly differently from release to release."""

QUESTIONS: Mapping[str, Question] = {
    each.name: each
    for each in (
        Question("compiles", "compiles", operator.ne, 1),
        Question("kernels", "kernels", _count_apart, 1, count_kernels),
        Question("memory", "temporaries", partial(measure_ratio, noise=_NOISE), 0.01),
        Question("copies", "copies in loops", _count_apart, 1, count_copies),
        Question("collectives", "collectives", _count_apart, 1, count_collectives),
        Question("code", "code", CodeSummary.distance, REWRITTEN),
        Question("numbers", "numbers", operator.ne, 1),
        Question("compile-time", "compile", partial(measure_ratio, noise=_JITTER), 0.5),
        Question("run-time", "run", measure_ratio, 0.3),
    )
}
"""The questions by name. Durations vary between runs, so compile times must differ by half to count as different."""

TIMED = ("compile-time", "run-time")
"""Questions about durations, which are answered only on request."""


def measure_capture(capture: Capture) -> dict[str, Any]:
    """Return a capture's answers by question, except durations and answers that cannot be read from its texts."""
    values: dict[str, Any] = {"compiles": True, "memory": capture.memory.temporaries}
    for question in QUESTIONS.values():
        if question.count is not None:
            try:
                values[question.name] = question.count(capture.module)
            # Older releases may print modules that cannot be parsed, and then the question has no answer.
            except UNREADABLE:
                continue
    if (code := summarize_code(capture.code)) is not None:
        values["code"] = code
    return values
