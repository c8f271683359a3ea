"""The printed answer about the results of two programs: where they diverge, and how much each result differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xla_inspect.answers import Table
from xla_inspect.questions.numbers.finding import rank
from xla_inspect.questions.numbers.rendering import (
    _HERE,
    _name_passes,
    _show_error,
    _show_ulps,
    measure,
    name_origin,
    tell_limits,
    tell_missed,
)
from xla_inspect.targets import lane

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xla_inspect.answers import Part
    from xla_inspect.questions.numbers.finding import Step
    from xla_inspect.questions.numbers.number_difference import NumberDifference

_MOST_RESULTS = 10
_SUMS = "Some targets round each sum of a reduction in a narrow type, and other targets round only the last one."
_NO_PASSES = (
    "The modules between the first and the last are not in the capture. `xla-inspect show --stage capture --passes` "
    "saves them, and XLA_FLAGS=--xla_dump_hlo_pass_re=.* adds them to a dump."
)


def render(answer: NumberDifference) -> Iterator[Part]:
    """Yield the printed answer about two programs: a sentence, the diverging passes, each result, and limits."""
    sides = (answer.left, answer.right)
    both = zip(answer.names, (answer.left_step, answer.right_step), strict=True)
    steps = [(name, step) for name, step in both if step]
    programs = " and ".join(dict.fromkeys(side.program for side in sides))
    yield f"{programs}, {answer.names[0]} -> {answer.names[1]}: {_sum_up(answer, steps)}"
    if steps:
        places = tuple(
            (name, ", ".join(step.passes) or _name_start(answer), name_origin(step.origin)) for name, step in steps
        )
        yield Table(("program", "pass", "begins at"), places, (), "Where they diverge")
        if not answer.is_before_passes:
            yield "Up to these passes, both programs have the same results, bit by bit."
        elif len({lane(side.target) for side in sides}) > 1:
            yield _SUMS
    if answer.after:
        before = {difference.output: difference for difference in answer.before}
        rows = tuple(
            (
                f"{one.relative:.1e}",
                f"{one.absolute:.1e}",
                _show_ulps(one),
                f"{one.elements:,}",
                _show_error(before.get(one.output)),
                str(one.output),
            )
            for one in answer.after[:_MOST_RESULTS]
        )
        columns = ("relative", "absolute", "ulps", "elements", "before passes", "result")
        yield Table(columns, rows, (0, 1, 2, 3, 4, 5), f"Results that differ: {len(answer.after)} of {answer.outputs}")
        yield (
            f"Relative errors are shares of the largest magnitude in the result of {answer.names[0]}, or of "
            f"{answer.names[1]} if the first has only zeros, and ulps count the representable numbers between both "
            "results. `before passes` has the relative errors before the passes."
        )
    for name, side in zip(answer.names, sides, strict=True):
        absence = side.absence or (_NO_PASSES if side.steps and not side.passes else "")
        yield from (f"{name}: {text}" for text in (*tell_missed(side), *filter(None, [absence]), *side.notes))
    yield answer.left.inputs
    limits = [*dict.fromkeys(tell_limits(side.target) for side in sides)]
    yield " ".join([limits[0], *(text.removeprefix(_HERE).strip() for text in limits[1:])])


def _name_start(answer: NumberDifference) -> str:
    is_known = not (answer.left.absence or answer.right.absence)
    return "before the passes" if is_known else "in the first modules"


def _sum_up(answer: NumberDifference, steps: Sequence[tuple[str, Step]]) -> str:
    """Return whether the results of two programs differ, by how much, and from where on."""
    unrun = [name for name, side in zip(answer.names, (answer.left, answer.right), strict=True) if not side.ran]
    if unrun:
        return f"nothing is compared, because no module of {' and '.join(unrun)} ran."
    modules = "" if answer.is_complete else " of the last modules that ran (not the optimized ones)"
    if not answer.after:
        return f"the results{modules} are the same, bit by bit."
    size = measure(max(answer.after, key=rank))
    places = [f"{_name_place(step)} in {name}" for name, step in steps]
    start = f"already {_name_start(answer)}, " if answer.is_before_passes else ""
    return f"the results{modules} differ ({size}). They diverge {start}{' and '.join(places)}."


def _name_place(step: Step) -> str:
    what = _name_passes(step.passes) if step.passes else step.origin.opcode or "an unknown operation"
    # The step to the optimized module has a description instead of a pass.
    what = what if what.startswith("after ") else f"at {'one of ' if len(step.passes) > 1 else ''}{what}"
    return f"{what} ({step.origin.where})" if step.origin.where else what
