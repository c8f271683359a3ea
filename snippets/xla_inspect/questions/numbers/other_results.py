"""Other ways to compute a program's results, and the differences of its outputs from them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from xla_inspect.captured import Capture
from xla_inspect.errors import InspectError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from xla_inspect.questions.numbers.array_difference import Results
    from xla_inspect.questions.numbers.finding import ArrayDifference
    from xla_inspect.questions.numbers.number_comparison import NumberComparison
    from xla_inspect.subject import Subject

EAGER, WIDE = "eager", "x64"
WAYS = {EAGER: "the function run eagerly", WIDE: "the function run eagerly in float64"}
"""The ways to compute results that need the function itself, each in words."""
_RANDOM = re.compile(r"\brandom_bits\b|\bthreefry2x32\b|\brng_bit_generator\b")


class NotComparedError(InspectError):
    """The error for results that cannot be computed or compared, with the reason."""


def compute_way(
    subject: Subject,
    comparison: NumberComparison,
    way: str | Capture | Callable[..., Any],
    *,
    compiles: bool = False,
) -> Results:
    """Return the results of another way to compute a program's results, with the inputs of a comparison.

    A way is one of `WAYS`, a target, another program's capture, or a function of the same arguments to run eagerly. The
    user's code may raise any exception.

    Raises:
        InspectError: There are no such results, with the reason.
    """
    # The help of the command must not import NumPy.
    from xla_inspect.questions.numbers.function_result import run_function

    if isinstance(way, Capture):
        return comparison.run_capture(way)
    if isinstance(way, str) and way not in WAYS:
        # Of a sharded program, the passes show how the compiler divides the results.
        passes = subject.call is not None and subject.call.devices > 1
        return comparison.run_capture(subject.capture(subject.name_target(way), passes=passes))
    if way == WIDE and _RANDOM.search(comparison.capture.jaxpr):
        message = "it draws other random numbers in float64"
        raise InspectError(message)
    if subject.call is not None and subject.call.devices > 1 and comparison.layout is None:
        message = "it uses several devices"
        raise InspectError(message)
    function = None if isinstance(way, str) else way
    arrays = comparison.inputs.arrays
    return run_function(subject, arrays, wide=way == WIDE, function=function, compiles=compiles)


def compare_outputs(
    subject: Subject,
    capture: Capture,
    way: str | Capture | Callable[..., Any],
    *,
    inputs: Any,  # noqa: ANN401 - a path, arrays, or a word
    seed: int,
) -> tuple[list[ArrayDifference | None], str]:
    """Return the difference of each output of a compiled program from another way to compute it, and the inputs.

    Floating-point results of another type are rounded to the program's type first. `compute_way` lists the ways, and
    `numbers` the inputs.

    Raises:
        NotComparedError: A module does not run, or the results have other shapes or kinds of types.
        InspectError: The inputs do not fit the program.
    """
    from xla_inspect.questions.numbers.array_difference import check_shapes, compare_results
    from xla_inspect.questions.numbers.number_comparison import NumberComparison

    with NumberComparison(capture, inputs, seed, 0) as comparison:
        try:
            own, other = comparison.run_capture(capture), compute_way(subject, comparison, way)
            check_shapes(own, other)
            pairs = [[_round(shard, shards[0]) for shard in others] for shards, others in zip(own, other, strict=True)]
        except InspectError as error:
            raise NotComparedError(str(error)) from error
        differences = [compare_results([others], [shards]) for others, shards in zip(pairs, own, strict=True)]
        return differences, comparison.inputs.description


def _round(array: np.ndarray[Any, Any], like: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array in the type of another one, if both are of the same kind of numbers.

    Raises:
        InspectError: They are of different kinds, or an integer is out of range.
    """
    import numpy as np

    from xla_inspect.questions.numbers.array_difference import is_floating

    if array.dtype == like.dtype:
        return array
    with np.errstate(over="ignore"):
        converted = array.astype(like.dtype)
    kinds = [is_floating(one) or (one.dtype.kind == "c") * 2 for one in (array, like)]
    is_whole = not any(kinds)
    if kinds[0] != kinds[1] or (is_whole and (converted != array).any()):
        message = f"its results have the type {array.dtype} instead of {like.dtype}"
        raise InspectError(message)
    return converted
