"""What a program came to under one release, by question: the value, whether two differ, and how far apart they are."""

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
    """What a program came to under one release.

    Attributes:
        version: The release of JAX.
        versions: The packages that compiled it, name to version.
        failed: Why there is nothing to compare, or an empty string.
        refused: What the compiler said or how it ended where it made no program of it, or an empty string.
        place: The line of the reader's file that did not load or trace under the release, or an empty string.
        values: What each question is answered with, by its name; one that the release cannot tell is absent.
        notes: What else is to be said of it, such as options of the compiler that it does not know.
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
    """A question that is asked of each release.

    Attributes:
        name: What it is called on the command line.
        title: The head of its column.
        distance: How far apart two values are.
        least: From which distance on two values differ.
        count: What is counted in a stage of the module, where the question can be asked of each.
    """

    name: str
    title: str
    distance: Callable[[Any, Any], float]
    least: float
    count: Callable[[Module], Counter[str]] | None = None

    def differs(self, first: ReleaseMeasure, second: ReleaseMeasure) -> bool:
        """Return whether two releases answer it otherwise; where one cannot tell, they do not."""
        if self.name not in first.values or self.name not in second.values:
            return False
        return self.distance(first.values[self.name], second.values[self.name]) >= self.least

    def is_nearer(self, measure: ReleaseMeasure, first: ReleaseMeasure, second: ReleaseMeasure) -> bool | None:
        """Return whether a release answers as the first of two rather than as the second, or None where it cannot."""
        if self.name not in measure.values:
            return None
        value = measure.values[self.name]
        return self.distance(value, first.values[self.name]) <= self.distance(value, second.values[self.name])


def measure_ratio(first: float, second: float, noise: float = 0) -> float:
    """Return how many times the smaller of two numbers the larger is, less one, with the noise that each has added."""
    low, high = sorted((first + noise, second + noise))
    return high / low - 1 if low > 0 else math.inf if high > 0 else 0.0


_NOISE = 1024
"""Bytes that a compiler puts aside for itself, such as counters of loops: what is small beside them is no change."""

_JITTER = 0.5
"""Seconds that a compile takes more or less by chance."""


def _count_apart(first: Counter[str], second: Counter[str]) -> float:
    return float(((first - second) + (second - first)).total())


def count_kernels(module: Module) -> Counter[str]:
    """Return the kernels of a module by their sort."""
    return Counter(launch.sort for launch in list_launches(module) if launch.role == "kernel")


def count_copies(module: Module) -> Counter[str]:
    """Return the copies inside loops by the shape of what is copied."""
    copies = (launch for launch in list_launches(module) if launch.role == "copy" and launch.within)
    return Counter(launch.instruction.shape.text for launch in copies)


def count_collectives(module: Module) -> Counter[str]:
    """Return the collectives of a module by their kind and how many bytes each device brings."""
    return Counter(f"{each.kind} of {each.operand_bytes} bytes" for each in list_collectives(module))


REWRITTEN = 0.5
"""From which share of the weighed operations on code counts as another, where nobody asked about the code: compilers of
two years arrange the same work a little differently all the time."""

QUESTIONS: Mapping[str, Question] = {
    each.name: each
    for each in (
        Question("compiles", "compiles", operator.ne, 1),
        Question("kernels", "kernels", _count_apart, 1, count_kernels),
        Question("memory", "temporaries", partial(measure_ratio, noise=_NOISE), 0.01),
        Question("copies", "copies in loops", _count_apart, 1, count_copies),
        Question("collectives", "collectives", _count_apart, 1, count_collectives),
        Question("code", "code", CodeSummary.distance, REWRITTEN),
        Question("compile-time", "compile", partial(measure_ratio, noise=_JITTER), 0.5),
        Question("run-time", "run", measure_ratio, 0.3),
    )
}
"""The questions by name. Times differ from one moment to the next: what is less than half more is none."""

TIMED = ("compile-time", "run-time")
"""Those whose answers are of a moment, and are asked only where the reader asks."""


def measure_capture(capture: Capture) -> dict[str, Any]:
    """Return the values of a capture, by question."""
    values: dict[str, Any] = {"compiles": True, "memory": capture.memory.temporaries}
    for question in QUESTIONS.values():
        if question.count is not None:
            try:
                values[question.name] = question.count(capture.module)
            except UNREADABLE:
                continue
    if (code := summarize_code(capture.code)) is not None:
        values["code"] = code
    return values
