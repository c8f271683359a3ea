"""The comparison of two programs' results on the same inputs, and the passes at which they diverge."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from xla_inspect.errors import InspectError
from xla_inspect.plural import plural
from xla_inspect.questions.numbers.array_difference import compare_results, widen
from xla_inspect.questions.numbers.difference_origin import find_foreign
from xla_inspect.questions.numbers.finding import Step
from xla_inspect.questions.numbers.module_part import inline_calls
from xla_inspect.questions.numbers.module_runner import list_stages
from xla_inspect.questions.numbers.number_comparison import NumberComparison, explain_absence
from xla_inspect.questions.numbers.number_difference import NumberDifference
from xla_inspect.questions.numbers.program_inputs import RANDOM

if TYPE_CHECKING:
    from xla_inspect.captured import Capture
    from xla_inspect.questions.numbers.array_difference import Results
    from xla_inspect.questions.numbers.finding import ArrayDifference


def compare_programs(
    first: Capture,
    second: Capture,
    names: tuple[str, str],
    inputs: Any = RANDOM,  # noqa: ANN401 - a path, arrays, or a word
    seed: int = 0,
) -> NumberDifference:
    """Return the differences between the results of two programs on the same inputs.

    Both captures have the module after each pass, and `make_inputs` explains the inputs.

    Raises:
        InspectError: A program has no module, their arguments or results have different shapes, or as in
            `NumberComparison`.
    """
    _check_programs((first, second), names)
    one = NumberComparison(first, inputs, seed, 0)
    arrays = dict(enumerate(one.inputs.arrays.values()))
    with one, NumberComparison(second, arrays, seed, 0, evaluator=one.evaluator) as other:
        changes = one.compare()
        for own, others in zip(one.inputs.arrays, other.inputs.arrays, strict=True):
            if own != others:
                sentence = f"The argument {own} of {names[0]} has the same numbers as {others} of {names[1]}."
                changes = replace(changes, notes=(*changes.notes, sentence))
        answer = NumberDifference(names=names, left=changes, right=other.compare())
        if not (one.states and other.states):
            return answer
        answer = replace(
            answer,
            outputs=len(one.states[0][2]),
            before=_list_differences(one.states[0][2], other.states[0][2]),
            after=_list_differences(one.states[-1][2], other.states[-1][2]),
            is_complete=one.is_complete and other.is_complete,
        )
        return _find_divergence(answer, one, other) if answer.after else answer


def digest_results(capture: Capture) -> str:
    """Return a hash of 8 digits of the results of a capture's optimized module on random inputs.

    The inputs depend on the shapes of the arguments only.

    Raises:
        InspectError: The module did not run.
    """
    with NumberComparison(capture, RANDOM, 0, 0) as comparison:
        results = comparison.run_capture(capture)
    digest = hashlib.sha256()
    for array in map(np.stack, results):
        # All NaNs count as the same number, and float64 has not all integers of 64 bits.
        numbers = array if array.dtype.kind in "biu" else np.where(np.isnan(widen(array)), np.nan, widen(array))
        digest.update(repr(numbers.shape).encode() + numbers.tobytes())
    return digest.hexdigest()[:8]


def _check_programs(captures: tuple[Capture, Capture], names: tuple[str, str]) -> None:
    """Raise an InspectError for programs that cannot run with the same inputs, or whose results have other shapes."""
    shapes: dict[str, list[list[str]]] = {"argument": [], "result": [], "device": []}
    for capture, name in zip(captures, names, strict=True):
        if absent := explain_absence(capture):
            message = f"{name} has no results: {absent.error or absent.absence}"
            raise InspectError(message)
        module = list(list_stages(capture))[-1].module
        shapes["argument"].append([argument.shape.plain for argument in module.entry.parameters])
        shapes["result"].append([result.plain for result in module.entry.root.shape.leaves()])
        shapes["device"].append([""] * module.num_partitions)
    for kind, (first, second) in shapes.items():
        different = next((number for number, pair in enumerate(zip(first, second)) if len({*pair}) > 1), None)  # noqa: B905 - the lengths are compared next
        pair = [plural(len(one), kind) for one in (first, second)]
        if different is not None:
            pair = [f"{kind} {different} of shape {one[different]}" for one in (first, second)]
        if first != second:
            message = f"{names[0]} has {pair[0]}, and {names[1]} has {pair[1]}, so their results cannot be compared"
            raise InspectError(message)


def _list_differences(first: Results, second: Results) -> tuple[ArrayDifference, ...]:
    """Return the difference of each result that differs."""
    pairs = enumerate(zip(first, second, strict=True))
    differences = ((number, compare_results([one], [other])) for number, (one, other) in pairs)
    return tuple(replace(difference, output=number) for number, difference in differences if difference)


def _find_divergence(answer: NumberDifference, first: NumberComparison, second: NumberComparison) -> NumberDifference:
    """Return the answer with the step of each program that follows their last common result."""
    meetings = [
        (number, other_number)
        for number, (*_, one) in enumerate(first.states)
        for other_number, (*_, other) in enumerate(second.states)
        if compare_results(one, other) is None
    ]
    if not meetings:
        steps = [_find_start(*pair) for pair in ((first, second), (second, first))]
    else:
        ends = zip((first, second), max(meetings, key=sum), strict=True)
        # No step follows the last result.
        steps = [one.locate_step(number) if number < len(one.steps) else None for one, number in ends]
    return replace(answer, is_before_passes=not meetings, left_step=steps[0], right_step=steps[1])


def _find_start(comparison: NumberComparison, other: NumberComparison) -> Step | None:
    """Return the first module of a program as a step, with the first instruction whose value the other lacks."""
    (_, stage, results), (_, base, expected) = comparison.states[0], other.states[0]
    difference = compare_results(expected, results)
    module, base_module = (inline_calls(one.module, {"call"}, ".call.{}") for one in (stage, base))
    origin = find_foreign(comparison.capture, module, comparison.runner, base_module, other.runner)
    return Step((stage.step,) if stage.step else (), difference, difference.relative, origin) if difference else None
