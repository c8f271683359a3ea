"""The Python function that compares two captures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect import analysis
from xla_inspect.questions import diff as package

if TYPE_CHECKING:
    from xla_inspect.captured import Capture
    from xla_inspect.questions.diff.difference import Difference


def compare(left: Capture, right: Capture, *, lines_of: str = "") -> Difference:
    """Return the differences of two captures: kernels, memory, collectives, and if the code or compiler changed.

    Args:
        left: The first capture.
        right: The second capture.
        lines_of: As in `summary`.

    Raises:
        InspectError: Neither capture has a line of the package.
    """
    left, right = analysis.use_lines_of(lines_of, left, right)
    return package.compare_captures(left, right, (left.target, right.target))
