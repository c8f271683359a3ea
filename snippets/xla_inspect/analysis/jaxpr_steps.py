"""A program as steps in order, each with the steps whose results it takes: plain data for drawings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, slots=True)
class JaxprStep:
    """One operation, or one input of the program.

    Attributes:
        name: What is done: a primitive such as `dot_general`; `input` for an input.
        shape: The types of its results as text, `f32[8,4]`.
        bytes: Bytes of its results.
        uses: The positions of the steps whose results it takes, in order, each as often as it takes it.
        group: The part of the program that it belongs to, such as `forward` and `backward`.
        live: Whether a result of the program depends on it.
    """

    name: str
    shape: str
    bytes: int
    uses: tuple[int, ...] = ()
    group: str = ""
    live: bool = True


def find_residuals(steps: Sequence[JaxprStep]) -> tuple[int, ...]:
    """The positions of the steps, inputs left out, whose results a live step of another group takes, in order.

    Between the forward and the backward half of a gradient these are the values that wait in memory: the residuals.
    """
    residuals = {source for source, target in list_edges(steps) if is_residual(steps, source, target)}
    return tuple(sorted(residuals))


def is_residual(steps: Sequence[JaxprStep], source: int, target: int) -> bool:
    """Whether the value of one step crosses into another group to reach a second step that is live."""
    crosses = steps[source].group != steps[target].group
    return crosses and steps[source].name != INPUT and steps[target].live


def list_edges(steps: Sequence[JaxprStep]) -> Iterator[tuple[int, int]]:
    """Yield each pair of positions, of a step and of one that takes its result, once."""
    for target, step in enumerate(steps):
        for source in dict.fromkeys(step.uses):
            yield source, target


INPUT = "input"
"""The kind of a step that is an argument of the program."""
