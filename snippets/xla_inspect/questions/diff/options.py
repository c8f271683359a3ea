"""The Python function that compares two captures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect import analysis
from xla_inspect.questions import diff as package

if TYPE_CHECKING:
    from xla_inspect.captured import Capture
    from xla_inspect.questions.diff.difference import Difference


def compare(left: Capture, right: Capture, *, lines_of: str = "") -> Difference:
    """Return what differs between two captures: kernels, memory, collectives; the compiler told apart from the code.

    Args:
        left: The first.
        right: The second.
        lines_of: As in `summary`.

    Raises:
        InspectError: Neither has a line of the package.
    """
    left, right = analysis.use_lines_of(lines_of, left, right)
    return package.compare_captures(left, right, (left.target, right.target))
