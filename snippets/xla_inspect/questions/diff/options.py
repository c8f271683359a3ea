"""The Python functions that compare two captures, or their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xla_inspect import analysis
from xla_inspect.errors import InspectError
from xla_inspect.questions import diff as package

if TYPE_CHECKING:
    from xla_inspect.captured import Capture
    from xla_inspect.questions.diff.difference import Difference
    from xla_inspect.questions.numbers import NumberDifference


def compare(left: Capture, right: Capture, *, lines_of: str = "") -> Difference:
    """Return the differences of two captures: kernels, memory, collectives, and if the code or compiler changed.

    Args:
        left: The first capture.
        right: The second capture.
        lines_of: As in `summary`.

    Raises:
        InspectError: Neither capture has a line of the package, or one of the two is no capture.
    """
    left, right = _use_captures("compare", left, right, lines_of)
    return package.compare_captures(left, right, (left.target, right.target))


def diff_numbers(
    left: Capture,
    right: Capture,
    *,
    inputs: Any = "random",  # noqa: ANN401 - a path, arrays, or a word
    seed: int = 0,
    lines_of: str = "",
) -> NumberDifference:
    """Return the differences between the results of two captures on the same inputs, and the passes behind them.

    Args:
        left: The first capture, with the module after each pass.
        right: The second capture.
        inputs: As in `numbers`.
        seed: As in `numbers`.
        lines_of: As in `summary`.

    Raises:
        InspectError: The arguments or results of the captures have different shapes, or as in `numbers`.
    """
    from xla_inspect.questions.numbers import compare_programs

    left, right = _use_captures("diff_numbers", left, right, lines_of)
    names = (left.target, right.target) if left.target != right.target else ("left", "right")
    return compare_programs(left, right, names, inputs, seed)


def _use_captures(function: str, left: Capture, right: Capture, lines_of: str) -> tuple[Capture, ...]:
    from xla_inspect.captured import Capture

    for side in (left, right):
        if not isinstance(side, Capture):
            message = f"{function}() takes two captures, as `capture` returns them, and {side!r:.60} is not one"
            raise InspectError(message)
    return analysis.use_lines_of(lines_of, left, right)
