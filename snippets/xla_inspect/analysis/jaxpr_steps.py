"""The steps of a program in order, each with the steps that produce its operands, as plain data for drawings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, slots=True)
class JaxprStep:
    """One operation, or one input of the program.

    Attributes:
        name: The primitive, such as `dot_general`, or `input` for an input.
        shape: The types of its results as text, `f32[8,4]`.
        bytes: Bytes of its results.
        uses: The positions of the steps whose results it uses, in order, with repetitions.
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
    """Return the positions of the steps, except inputs, whose results a live step of another group uses, in order.

    Between the forward and the backward pass of a gradient, these are the residuals: values that wait in memory.
    """
    residuals = {source for source, target in list_edges(steps) if is_residual(steps, source, target)}
    return tuple(sorted(residuals))


def is_residual(steps: Sequence[JaxprStep], source: int, target: int) -> bool:
    """Return whether `source` is no input and `target`, a user of its value, is a live step of another group."""
    # A dead user is removed before execution, so it does not keep the value alive.
    crosses = steps[source].group != steps[target].group
    return crosses and steps[source].name != INPUT and steps[target].live


def list_edges(steps: Sequence[JaxprStep]) -> Iterator[tuple[int, int]]:
    """Yield each pair of the positions of a step and of a step that uses its result, once."""
    for target, step in enumerate(steps):
        # A step may use the same value several times, but that is one edge.
        for source in dict.fromkeys(step.uses):
            yield source, target


INPUT = "input"
"""The name of a step that is an argument of the program."""
